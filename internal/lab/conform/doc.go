// Package conform compares what a runtime does with pods with what is true inside of their
// containers. Everything in it is pure but package inside.
//
//	Behaviour: spec, Until, Asks ─► Manifest ─► podctl's own node ─► runtime
//	                                                                    │
//	     status, logs, answers of Asks ─► Observation ─► Judge ─► Result: ok, deviates, unsupported
//	                                          ▲
//	 package inside, in each container: facts ┘   (podctl itself, mounted from the host)
//
// A behaviour is one pod and what has to be so of it, in the file of its family. No image is
// needed but one that the runtime has: containers run podctl, which is mounted. Single
// calls and single containers are critest's; what is here needs a pod.
package conform
