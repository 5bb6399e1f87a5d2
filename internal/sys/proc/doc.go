// Package proc reads processes from /proc.
//
//	/proc/PID/stat    ─► state, parent, start time, comm
//	/proc/PID/status  ─► PIDs per namespace, signal masks
//	/proc/PID/…       ─► cmdline, exe, wchan, ns/*, cgroup, fd, mountinfo, environ, task, uid_map, net/*
//	/proc/locks       ─► the holder of a lock
//
// It is the only reader of /proc processes in this module. It keeps apart three
// answers that a caller must not confuse: the process is there, it is gone
// (ErrGone), and it cannot be seen (any other error). A PID means nothing
// outside its PID namespace: compare Namespace of two processes before a PID
// that one of them reported is looked up here.
//
// Every read is bounded, because a process can write its own cmdline and comm.
// Nothing blocks except the kernel itself. An FS is safe for concurrent use.
//
// The kubelet has no counterpart: it learns about processes from the runtime.
package proc
