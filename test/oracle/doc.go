// Package oracle replays the kubelet's recorded behaviour against podctl.
//
//	testdata/SUBJECT/…  ──►  the package under test  ──►  compared with the recording
//	(or $PODCTL_ORACLE/SUBJECT/…)
//
// The recordings were made with the kubelet v1.36.3 and are data: they are
// never edited. Setting PODCTL_ORACLE to another directory with the same
// subdirectories (pods, worker, pleg, preempt) tries other recordings. A
// directory that is missing fails the test; it does not skip it.
//
//	go test ./test/oracle/... -run Worker
//
// The recorded pods are held against podctl twice: their configs against what
// render makes of the manifests, and, as root on Linux, all their calls against
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
// Everything else is equal.
package oracle
