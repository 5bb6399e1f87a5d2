# shellcheck shell=bash
# Taking a private runtime down. There is one procedure, that for a runtime that
# was killed while pods ran, because that one has to work. It makes no calls to the
# runtime.

# clean continues where a step fails, so that less is left, and fails at the end.
clean() {
	local groups failed=0
	if [[ ! -d $RUN && ! -d $LIB ]]; then
		say "$NAME is not up"
		return
	fi
	groups=$(container_cgroups && kubelet_groups)
	groups=$(sort -u <<<"$groups")
	stop_kubelet || failed=1
	stop_daemon || failed=1
	kill_all shims || failed=1
	kill_groups "$groups" || failed=1
	remove_shim_sockets || failed=1
	unmount_below "$RUN" "$LIB" || failed=1
	clean_network || failed=1
	remove_groups "$groups" || failed=1
	clean_kubelet || failed=1
	rm -rf --one-file-system "$RUN" "$LIB" || failed=1
	rmdir --ignore-fail-on-non-empty "$RUN_BASE" "$LIB_BASE" 2>/dev/null || true
	((failed == 0)) || die "$NAME is down, but not all of it could be removed"
	say "$NAME is down"
}

stop_daemon() {
	local pid i
	is_running || return 0
	pid=$(<"$RUN/pid")
	kill "$pid" 2>/dev/null || true
	for i in {1..50}; do
		is_running || return 0
		((i < 30)) || kill -KILL "$pid" 2>/dev/null || true
		sleep 0.1
	done
	say "cannot stop $NAME, process $pid"
	return 1
}

# kill_all kills the processes that the function named prints, until it prints
# none: between listing and killing one may have started another.
kill_all() {
	local i pids
	for i in {1..50}; do
		pids=$("$@")
		[[ $pids ]] || return 0
		# shellcheck disable=SC2086 # pids are words
		kill -KILL $pids 2>/dev/null || true
		sleep 0.1
	done
	say "cannot kill processes of $NAME: $pids"
	return 1
}

# shims prints the pids of processes that serve this runtime's containers: by
# their name, and by a path of this runtime among their arguments.
shims() {
	local dir comm
	for dir in /proc/[0-9]*; do
		read -r comm 2>/dev/null <"$dir/comm" || continue
		case $comm in
		containerd-shim* | conmon | runc* | crun* | crio | pinns)
			if { tr '\0' '\n' <"$dir/cmdline"; } 2>/dev/null | grep -qE -- "^(--?[a-z-]+=)?($RUN|$LIB)/"; then
				echo "${dir#/proc/}"
			fi
			;;
		esac
	done
}

# container_cgroups prints the cgroup directories of all containers, from
# the state of runc and crun and, where they got no further, from their bundles. Everything
# in them will be killed, so each must have the container's id in its name.
container_cgroups() {
	local file path dir
	for file in "$RUN"/runc*/*/state.json "$RUN"/runc*/*/*/state.json; do
		[[ -f $file ]] || continue
		dir=${file%/state.json}
		jq -r '.cgroup_paths[]' "$file" | existing_groups "${dir##*/}"
	done
	for file in "$RUN"/crun/{,k8s.io/}*/status \
		"$RUN"/state/io.containerd.runtime.v2.task/*/*/config.json "$RUN"/storage/*-containers/*/userdata/config.json; do
		[[ -f $file ]] || continue
		path=$(jq -r '."cgroup-path" // .linux.cgroupsPath // empty' "$file")
		dir=${file%/*} dir=${dir%/userdata}
		printf "%s\n" "/sys/fs/cgroup$path" /sys/fs/cgroup/*"$path" | existing_groups "${dir##*/}"
	done
}

existing_groups() {
	local id=$1 dir
	while read -r dir; do
		[[ ! -d $dir || $dir != /sys/fs/cgroup/*"$id"* ]] || echo "$dir"
	done
}

kill_groups() {
	[[ $1 ]] || return 0
	thaw "$1"
	kill_all group_processes "$1"
}

# thaw: on cgroup v1 no signal ends a frozen process, and a runc that was killed leaves
# frozen what it had frozen.
thaw() {
	local file
	find_in "$1" -name freezer.state | while read -r file; do
		echo THAWED 2>/dev/null >"$file" || true
	done
}

group_processes() { find_in "$1" -name cgroup.procs -exec cat {} + | sort -un; }

# find_in runs find once on many directories, one a line, of which some may be gone: a
# process for each takes a busy machine minutes.
find_in() {
	local -a dirs
	mapfile -t dirs <<<"$1"
	find "${dirs[@]}" "${@:2}" 2>/dev/null || true
}

# remove_groups removes the cgroups of containers, of their pods, and the
# parents of pods when they are empty and no kubelet lives here; then what
# runtimes never remove: the parents of pods that name none, and the cgroups in
# which CRI-O had its conmons. rmdir refuses where a process is left.
remove_groups() {
	local parent foreign=''
	! kubelet_lives foreign || foreign=yes
	if [[ $1 ]]; then
		find_in "$1" -depth -type d -exec rmdir {} +
		while read -r parent; do
			while removable "${parent##*/}" && rmdir "$parent" 2>/dev/null; do
				parent=${parent%/*}
			done
		done < <(xargs -d '\n' dirname <<<"$1" | sort -u)
	fi
	rmdir /sys/fs/cgroup/{,*/}{crio-conmon-*,crio,k8s.io} 2>/dev/null || true
}

removable() {
	case $1 in
	pod* | *-pod*.slice) true ;; # podctl-NAME is live.CgroupRoot
	burstable | besteffort | kubepods*) [[ ! $foreign ]] ;;
	*) false ;;
	esac
}

# remove_shim_sockets: containerd 1.6 has all shims' sockets in one directory
# of the machine; which are ours is written in their bundles.
remove_shim_sockets() {
	local file
	for file in "$RUN"/state/io.containerd.runtime.v2.task/*/*/address; do
		[[ ! -f $file ]] || rm -f "$(sed 's#^unix://##' "$file")"
	done
	rmdir --ignore-fail-on-non-empty /run/containerd/s /run/containerd 2>/dev/null || true
}

# unmount_below unmounts what is mounted below the directories, last first. What a process
# that is just ending unmounts meanwhile is no error.
unmount_below() {
	local dir target
	for dir; do
		awk -v dir="$dir/" 'index($5 "/", dir) == 1 {print $5}' /proc/self/mountinfo | tac |
			while read -r target; do
				umount "$target" 2>/dev/null || umount --lazy "$target" 2>/dev/null ||
					! mountpoint -q "$target" || umount --lazy "$target"
			done
	done
}
