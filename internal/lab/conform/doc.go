// Package conform compares what a runtime does with pods with what is true inside of their
// containers.
//
//	behaviours.yaml: spec, until ─► Manifest ─► podctl's own node ─► runtime
//	                                                                    │
//	          status, logs, exec ─► Observation ─► expect ─► Result: ok, deviates, unsupported
//	                                     ▲
//	package inside, in each container: facts ┘   (podctl itself, mounted from the host)
//
// A behaviour is one pod and what must be true in it: a row of behaviours.yaml. No image is
// needed but one that the runtime has: containers run podctl, which is mounted. Single calls and
// single containers are critest's; what is here needs a pod.
//
// # A row
//
// Containers without a command run the steps of package inside that are their arguments. The pod
// is removed as soon as until is true, by default at its end, and after the steps of exec in its
// first container. The keys of until and expect are paths, their values what is there:
//
//	value        equal to it
//	=path        equal to what is at the path
//	{not: V}     not equal             {in: [V, …]}       equal to one
//	{has: [V]}   a list with these     {lacks: [V]}       a list without any of these
//	{hasAny: []} with one of these     {matches: REGEXP}  a string, or the words of a list
//	{atLeast: V} a number, or more     {below: V}         a smaller number
//
// What has no value is equal to null, and nothing else is true of it. The paths:
//
//	pod, status, ended      the pod; its status when until was true, and at the end
//	CONTAINER               its first facts; text (lines but facts), times (those of stamp), runs (all
//	                        facts) and attempts (which wrote them), stdout and stderr ({text, tags}),
//	                        malformed (number of lines that are none of a log); end ("3 Error"),
//	                        message, seconds, restarts, ready
//	answer                  of exec: err, code, stdout, stderr, facts
//	host                    facts of the host
//	stopSeconds             from the request to remove the pod until it was gone
//	PATH.length, PATH.words of a list or a string
package conform
