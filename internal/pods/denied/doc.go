// Package denied reads what the kernel's log says it has denied to processes: by an AppArmor profile,
// by SELinux, or by a seccomp filter.
//
//	/dev/kmsg, audit.log ──► Parse ──► Denial ──► Of: those of a pod, grouped, with how sure that is
//
// A container writes neither log, but it chooses what some fields of a record say: the names of its
// processes and of its files. They are shown, and never decide whose a record is: that is the PID
// while a process lives in the container's cgroup, the PID of a first process that the runtime still
// reports, the MCS pair of an SELinux context and, likely, of a container that runs, the AppArmor
// profile with the time. What leaves no record (a deny rule of a profile, a seccomp filter that returns an error)
// is not known to have been denied.
//
// The kubelet has no counterpart.
package denied
