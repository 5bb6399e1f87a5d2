// Package oracle replays the kubelet's recorded behaviour against podctl.
//
//	testdata/SUBJECT/…  ──►  the package under test  ──►  compared with the recording
//	(or $PODCTL_ORACLE/SUBJECT/…)
//
// The recordings were made with the kubelet v1.37.2 and are data: they are
// never edited. Setting PODCTL_ORACLE to another directory with the same
// subdirectories tries other recordings. A directory that is missing fails the
// test; it does not skip it.
//
//	subject   recorded answers of                                    compared with
//	worker    the pod workers                                        worker.Step
//	pleg      the generic PLEG                                       pleg.Diff and its cache
//	preempt   the critical-pod admission handler                     preempt.Resolve
//	pods      a standalone kubelet: its calls to containerd          render, node
//	actions   computePodActions                                      podsync.Actions
//	status    generateAPIPodStatus, SetPodStatus, TerminatePod       podsync.PodStatus, Settle, Finish
//
//	go -C test test ./oracle/... -run Worker
//
// The recorded pods are compared with podctl twice: their configs with what
// render makes of the manifests, and, as root on Linux, all their calls with
// those of a node that runs them on a containerd of its own:
//
//	pod.yaml ──► node ──► recording proxy ──► containerd
//	                            │
//	calls.json ──► evened ◄─────┴─► evened ──► compared
//
// Evened means without what may differ (order.even, exempt, podctl.mask).
//
// # What may differ
//
// Of the calls: repetitions of StopPodSandbox, the order of containers that
// are stopped in parallel, the number of executions of a probe. Of the configs: annotations
// kubernetes.io/config.* and podctl's own; the first element of cgroupParent;
// what depends on the machine (oomScoreAdj of a burstable pod, DNS servers,
// sizes of huge pages) and is computed by the same formula; the id of the
// image. Of the workers: a waiter that podctl releases and the kubelet leaks.
// Of actions and statuses: what a row of docs/kubelet-differences.md explains,
// named in actionsRows and statusRows. Everything else is equal.
package oracle
