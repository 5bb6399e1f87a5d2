# shellcheck shell=bash
# A real kubelet beside a private containerd 2.4.2 (kubelet) or CRI-O (kubelet-crio),
# standalone: it runs the static pods of $RUN/kubelet/static and talks to no API server.

KUBELET_DIR=$CACHE/kubelet-$KUBERNETES_VERSION

install_kubelet() {
	need_no_foreign_kubelet
	install_containerd
	build_kubelet
}

install_kubelet_crio() {
	need_no_foreign_kubelet
	install_crio
	build_kubelet
}

need_no_foreign_kubelet() {
	! kubelet_lives foreign || unsupported "a kubelet runs on this host, and two would share /var/lib/kubelet/device-plugins"
}

build_kubelet() {
	install_packages mount mount pidof sysvinit-utils
	[[ -d $KUBELET_DIR ]] || say "building kubelet $KUBERNETES_VERSION, once: this takes several minutes"
	once "$KUBELET_DIR" go_build_kubelet || unsupported "cannot build kubelet $KUBERNETES_VERSION"
}

go_build_kubelet() {
	build_kubernetes "$1" k8s.io/kubernetes/cmd/kubelet
}

command_kubelet() { command_containerd; }
command_kubelet_crio() { command_crio; }
load_images_kubelet() { load_images_containerd; }
load_images_kubelet_crio() { load_images_crio; }
load_kubelet() { load_containerd "$1"; }
load_kubelet_crio() { load_crio "$1"; }
configure_kubelet() {
	configure_containerd
	prepare_kubelet
}

configure_kubelet_crio() {
	configure_crio
	prepare_kubelet
}

prepare_kubelet() {
	mkdir -p "$RUN/kubelet/static" "$LIB/kubelet" "$LIB/pod-logs"
	write_kubelet_config
}

# kubelet_port prints the secure port (0), the one of healthz (1) or the
# read-only one (2). They follow from the subnet, which is unique.
kubelet_port() {
	local subnet
	subnet=$(<"$RUN/subnet")
	echo $((21000 + ${subnet##*.} * 10 + $1))
}

# kubelet_cgroup is the root of the kubelet's own pods, on every hierarchy.
kubelet_cgroup() { echo "kubelet-$NAME"; }

# write_kubelet_config: oomScoreAdj because a host may lack CAP_SYS_RESOURCE;
# no eviction and no image collection, because the disk is not the kubelet's.
write_kubelet_config() {
	cat >"$RUN/kubelet/config.yaml" <<-EOC
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: 127.0.0.1
		port: $(kubelet_port 0)
		healthzPort: $(kubelet_port 1)
		readOnlyPort: $(kubelet_port 2)
		staticPodPath: $RUN/kubelet/static
		podLogsDir: $LIB/pod-logs
		volumePluginDir: $LIB/kubelet/volume-plugins
		containerRuntimeEndpoint: $ENDPOINT
		authentication:
		  anonymous: {enabled: true}
		  webhook: {enabled: false}
		authorization: {mode: AlwaysAllow}
		cgroupDriver: cgroupfs
		cgroupRoot: /$(kubelet_cgroup)
		failCgroupV1: false
		failSwapOn: false
		oomScoreAdj: 0
		makeIPTablesUtilChains: false
		imageGCHighThresholdPercent: 100
		evictionHard:
		  memory.available: 0%
		  nodefs.available: 0%
		  nodefs.inodesFree: 0%
		  imagefs.available: 0%
		  imagefs.inodesFree: 0%
	EOC
}

# node_ip prints the address of the default route, nothing without one. A kubelet that is
# not told its address looks its name up first, in vain, which takes 10 s each time
# where no DNS server answers.
node_ip() {
	{ ip -4 -o route get 192.0.2.1 || ip -6 -o route get 2001:db8::1; } 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p'
}

# write_kubelet_command writes $RUN/kubelet/run, which becomes the kubelet: with
# it a test starts the kubelet again without waiting until it is healthy. Flags
# given to an earlier up stay, unless others are given.
write_kubelet_command() {
	[[ ! -f $RUN/kubelet/run ]] || ((${#KUBELET_FLAGS[@]})) || return 0
	local address
	address=$(node_ip) || address=
	cat >"$RUN/kubelet/run" <<-EOC
		#!/bin/bash
		echo \$\$ >"$RUN/kubelet/pid"
		exec env -i HOME=/root PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \\
			"$KUBELET_DIR/kubelet" --config="$RUN/kubelet/config.yaml" --root-dir="$LIB/kubelet" \\
			--cert-dir="$LIB/kubelet/pki" --v=2 ${address:+--node-ip="$address"} ${KUBELET_FLAGS[*]@Q} </dev/null >>"$LIB/kubelet.log" 2>&1
	EOC
	chmod +x "$RUN/kubelet/run"
}

# start_kubelet starts it if it does not run, and waits until it is healthy and
# its secure port is open.
start_kubelet() {
	local i
	note_host
	make_kubelet_cgroup
	if ! kubelet_is_running; then
		write_kubelet_command
		setsid "$RUN/kubelet/run" 9>&- &
		disown
	fi
	for i in {1..300}; do
		! { http_ok "$(kubelet_port 1)" /healthz && (: <>"/dev/tcp/127.0.0.1/$(kubelet_port 0)"); } 2>/dev/null || return 0
		((i < 20)) || kubelet_is_running || break
		sleep 0.1
	done
	tail -n 20 "$LIB/kubelet.log" >&2
	die "the kubelet of $NAME did not become healthy; its log is $LIB/kubelet.log"
}

kubelet_is_running() {
	local pid
	pid=$(cat "$RUN/kubelet/pid" 2>/dev/null) || return 1
	{ tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$RUN/"
}

# http_ok reports whether a GET on a local port is answered with 200.
http_ok() {
	local status
	status=$({
		exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3 && timeout 2 head -n 1 <&3
	} 2>/dev/null) || return 1
	[[ $status == *" 200 "* ]]
}

# make_kubelet_cgroup: the kubelet refuses a cgroup root that does not exist or,
# on v2, lacks controllers. On v1 a new cpuset has no processors until it is given
# those of its parent.
make_kubelet_cgroup() {
	local dir file controller
	for dir in $(cgroup_hierarchies); do
		if [[ -f $dir/cgroup.subtree_control ]]; then
			for controller in $(<"$dir/cgroup.controllers"); do
				echo "+$controller" >"$dir/cgroup.subtree_control" || true
			done
		fi
		mkdir -p "$dir/$(kubelet_cgroup)"
		for file in cpuset.cpus cpuset.mems; do
			[[ ! -f $dir/cgroup.clone_children || ! -f $dir/$file ]] ||
				cat "$dir/$file" >"$dir/$(kubelet_cgroup)/$file"
		done
	done
}

cgroup_hierarchies() { findmnt -nro TARGET -t cgroup,cgroup2 | sort -u; }

# note_host records what the kubelet changes outside of its directories, so that
# the last private kubelet that is taken down restores it: settings of the kernel,
# and /var/lib/kubelet, where its device manager always listens.
note_host() {
	local file
	[[ ! -f $RUN_BASE/sysctls ]] || return 0
	[[ -e /var/lib/kubelet ]] || touch "$RUN_BASE/no-var-lib-kubelet"
	for file in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
		kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		[[ ! -r /proc/sys/$file ]] || echo "/proc/sys/$file $(<"/proc/sys/$file")"
	done >"$RUN_BASE/sysctls"
}

restore_host() {
	local file value
	[[ -f $RUN_BASE/sysctls ]] || return 0
	while read -r file value; do
		[[ $(<"$file") == "$value" ]] || echo "$value" >"$file" 2>/dev/null || true
	done <"$RUN_BASE/sysctls"
	if [[ -f $RUN_BASE/no-var-lib-kubelet ]]; then
		rm -f /var/lib/kubelet/device-plugins/{kubelet.sock,kubelet_internal_checkpoint,DEPRECATION}
		rmdir --ignore-fail-on-non-empty /var/lib/kubelet/{device-plugins,} 2>/dev/null || true
	fi
	rm -f "$RUN_BASE"/{sysctls,no-var-lib-kubelet}
}

# kubelet_lives reports whether a kubelet runs on this host; kubelet_lives foreign
# ignores those of private runtimes. By the executable: a process that has ended has
# none, and tests have processes of that name.
kubelet_lives() {
	local pid
	for pid in $(pidof kubelet k3s rke2 || true); do
		[[ $(readlink "/proc/$pid/exe" || true) =~ /(kubelet|k3s|rke2)$ ]] || continue
		[[ ${1:-} ]] && grep -qaF "$RUN_BASE/" "/proc/$pid/cmdline" 2>/dev/null || return 0
	done
	return 1
}

stop_kubelet() {
	[[ -d $RUN/kubelet ]] || return 0
	kill_all kubelet_pid
}

kubelet_pid() { ! kubelet_is_running || cat "$RUN/kubelet/pid"; }

# kubelet_groups prints the kubelet's cgroups.
kubelet_groups() {
	local dir
	[[ -d $RUN/kubelet ]] || return 0
	for dir in $(cgroup_hierarchies); do
		[[ ! -d $dir/$(kubelet_cgroup) ]] || echo "$dir/$(kubelet_cgroup)"
	done
}

# clean_kubelet removes what a kubelet leaves outside of its directories.
clean_kubelet() {
	[[ -d $RUN/kubelet ]] || return 0
	find /var/log/containers -maxdepth 1 -type l -lname "$LIB/*" -delete 2>/dev/null || true
	rmdir --ignore-fail-on-non-empty /var/log/containers 2>/dev/null || true
	kubelet_lives || restore_host
}
