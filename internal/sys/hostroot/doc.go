// Package hostroot makes the root directory of the host that of the process, for
// podctl in a container.
//
//	/host ──► Enter: chroot ──► every path is one of the host
//	/var/run/secrets/…/serviceaccount ──► Token: of the container, also after Enter
//
// Paths come from everywhere: the runtime reports log files, state directories and
// image file systems, the kubelet its directories, the mount table mount points,
// and each may lead through symbolic links. One change of the root directory makes
// all of them right, links and /proc included, where a prefix would have to be
// added at each place, and would not resolve an absolute link.
//
// Enter is called once, before the command runs. It needs CAP_SYS_CHROOT. It is no
// barrier: the process keeps the directory of its service account open.
//
// The kubelet has no counterpart: it runs with the root directory of the host.
package hostroot
