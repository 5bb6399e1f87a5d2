// Package cri is a CRI socket as a typed client: it finds the socket, calls
// it with a deadline for every call, and answers in the words of package pod.
//
//	flag, env, crictl.yaml, ──► Discover ──► Endpoint
//	well-known sockets                          │
//	                                         Connect
//	                                            ▼
//	 ListPods ListPod PodStatus …           ┌────────┐     ┌──────────────┐
//	 RunPodSandbox CreateContainer …  ────► │ Client │ ──► │ conn         │ ──► socket
//	 PullImage ExecSync Hints               └────────┘     │ deadline     │
//	                                            ▲          │ log, observe │
//	 *pod.Pod, *pod.Status, *Error  ◄── convert ┘          │ errors       │
//	                                                       └──────────────┘
//
// A verb is in the file of its noun: sandbox.go, container.go, image.go. All
// calls pass through conn.go, which alone knows gRPC's status codes: what
// leaves this package is an *Error, which errors.Is compares with ErrNotFound,
// ErrUnavailable and their siblings, and which keeps the runtime's own words.
// What turns CRI messages into pod's types (convert.go, group.go) is pure.
// Lists of everything are decoded only where they say something new (entries.go).
//
// Every method may be called by many goroutines at once and blocks for as long
// as deadlines.go says at most; Hints until it is told to end. A runtime that went away makes calls fail at once with ErrUnavailable,
// and the calls after its return succeed: the connection is made again in the
// background, within three seconds.
//
// Environment values, commands and arguments are never logged here.
//
// # Differs from the kubelet in
//
// (pkg/kubelet/kuberuntime, k8s.io/cri-client.) Reading calls get 30 seconds,
// not two minutes. Pulls and execs without a timeout end after six hours, not
// never. A pod of the runtime is found by its UID label before its metadata,
// so what another tool relabelled is seen as it was labelled; a container
// without that label belongs to its sandbox's pod if the sandbox has none either,
// or one that CRI-O added, else to no pod. Statuses inside of PodSandboxStatus are
// used where the runtime gives both them and their timestamp, without any feature
// gate. The statuses of one pod are read in parallel.
package cri
