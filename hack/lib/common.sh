# shellcheck shell=bash
# Paths, arguments, messages, locks.

RUN_BASE=/run/podctl-dev
LIB_BASE=/var/lib/podctl-dev
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/podctl
PATH=$PATH:/usr/local/go/bin:/usr/sbin:/sbin

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
	say "$*"
	exit 1
}
# quietly prints the output of a command only if it fails.
quietly() {
	local out
	out=$("$@" 2>&1) || {
		echo "$out" >&2
		die "$1 failed"
	}
}
# unsupported reports what this host lacks: tests are then skipped.
unsupported() {
	say "$*"
	exit 3
}

parse() {
	# shellcheck disable=SC2034 # hack/runtime reads it
	COMMAND=${1:-}
	KIND=containerd NAME='' KUBELET_FLAGS=() ARCHIVE=''
	[[ $# -eq 0 ]] || shift
	while (($#)); do
		case $1 in
		containerd | containerd-2.2 | containerd-1.7 | containerd-distro | crio | crio-events | kubelet | kubelet-crio | kubelet-sim) KIND=$1 CHOSEN=yes ;;
		--name) NAME=${2:?--name needs a value} CHOSEN=yes && shift ;;
		--name=*) NAME=${1#--name=} CHOSEN=yes ;;
		--all) ALL=yes ;;
		*.tar) ARCHIVE=$1 ;;
		--) shift && KUBELET_FLAGS=("$@") && break ;;
		*)
			say "unknown argument: $1"
			usage >&2
			exit 2
			;;
		esac
		shift
	done
	NAME=${NAME:-${KIND//./-}}
	# A unix socket's path has 108 bytes, and a shim's socket 64 hex digits.
	[[ $NAME =~ ^[a-z0-9][a-z0-9-]{0,19}$ ]] || die "name \"$NAME\": want at most 20 of a-z, 0-9 and -"
	set_paths
}

# kind prints the kind as it is part of function names.
kind() { echo "${KIND//[-.]/_}"; }

# set_paths derives every path of the runtime from its name.
set_paths() {
	RUN=$RUN_BASE/$NAME
	LIB=$LIB_BASE/$NAME
	SOCKET=$RUN/cri.sock
	ENDPOINT=unix://$SOCKET
	LOG=$LIB/log
	NETWORK=podctl-$NAME
}

names() {
	local base
	for base in "$RUN_BASE" "$LIB_BASE"; do # one alone is left after a reboot
		[[ ! -d $base ]] || find "$base" -mindepth 1 -maxdepth 1 -type d -printf '%f\n'
	done | sort -u
}

need_host() {
	[[ $(uname -s) == Linux ]] || unsupported "a private runtime needs Linux, this is $(uname -s)"
	[[ $EUID -eq 0 ]] || unsupported "a private runtime needs root"
}

# take_lock serialises everything that changes the machine: two runtimes must
# not choose the same subnet. The daemon must not inherit descriptor 9.
take_lock() {
	exec 9>/run/podctl-dev.lock
	flock 9
}

# is_running reports whether the daemon lives: a pid alone may belong to another.
is_running() {
	local pid
	pid=$(cat "$RUN/pid" 2>/dev/null) || return 1
	{ tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$RUN/"
}

# systemd_cgroups reports whether the cgroup driver is systemd. The cgroup root of
# a private kubelet is not a unit of systemd, so that it uses cgroupfs everywhere.
# PODCTL_DEV_CGROUPS=cgroupfs is for tests of that driver where systemd runs.
systemd_cgroups() { [[ -d /run/systemd/system && ${PODCTL_DEV_CGROUPS:-} != cgroupfs ]] && ! has_kubelet; }

# has_kubelet reports whether a kubelet is beside the runtime.
has_kubelet() { [[ $KIND == kubelet* ]]; }

# may_raise_priority: without CAP_SYS_RESOURCE (bit 24) no process may lower an
# oom_score_adj, and runc dies of it.
may_raise_priority() {
	local effective
	effective=$(awk '/^CapEff:/ {print $2}' /proc/self/status)
	((0x$effective >> 24 & 1))
}

# once runs a command that fills a directory of the cache, unless it was
# filled before; the directory appears whole or not at all.
#   once DIR COMMAND … (DIR.tmp is appended as the last argument)
once() {
	local dir=$1
	shift
	mkdir -p "$CACHE"
	(
		flock 8
		[[ ! -d $dir ]] || exit 0
		rm -rf "$dir.tmp"
		mkdir -p "$dir.tmp"
		"$@" "$dir.tmp" >&2 && mv "$dir.tmp" "$dir"
	) 8>"$dir.lock"
}
