# shellcheck shell=bash
# CRI-O 1.34, as it is by default (crio) and with its events switched on
# (crio-events). Those are one build; they differ by a line of crio.conf.

CRIO_VERSION=v1.34.0
CRIO_DIR=$CACHE/crio-$CRIO_VERSION

install_crio() {
	install_common
	# Without nft, CRI-O 1.34 crashes at the first pod with a host port.
	install_packages conmon conmon skopeo skopeo nft nftables gcc gcc pkg-config pkg-config \
		/usr/include/seccomp.h libseccomp-dev /usr/include/stdio.h libc6-dev
	(install_crun) || say "no crun: no handler crun"
	[[ -d $CRIO_DIR ]] || say "building CRI-O $CRIO_VERSION, once: this takes a few minutes"
	once "$CRIO_DIR" go_build_crio || unsupported "cannot build CRI-O $CRIO_VERSION"
}

go_build_crio() {
	local module=github.com/cri-o/cri-o work=$1/work
	local -a tags=(containers_image_openpgp exclude_graphdriver_btrfs containers_image_ostree_stub seccomp)
	CGO_ENABLED=1 in_throw_away_module "$module" "$CRIO_VERSION" "$work" build \
		-tags "${tags[*]}" -o "$1/crio" "$module/cmd/crio" &&
		gcc -std=c99 -Os -static -o "$1/pinns" "$work"/source/pinns/src/*.c && cd / && rm -rf "$work"
}

command_crio() {
	printf '%s\n' /usr/bin/env "CONTAINERS_STORAGE_CONF=$RUN/storage.conf" "$CRIO_DIR/crio" --config "$RUN/crio.conf" --config-dir "" \
		--registries-conf "$RUN/registries.conf"
}

install_crio_events() { install_crio; }
command_crio_events() { command_crio; }
load_images_crio_events() { load_images_crio; }
configure_crio() { write_crio_conf false; }
configure_crio_events() { write_crio_conf true; }

# write_crio_conf takes whether CRI-O has events: true or false.
write_crio_conf() {
	local events=$1 driver=overlay manager=cgroupfs
	[[ $(snapshotter) == overlayfs ]] || driver=vfs
	! systemd_cgroups || manager=systemd
	echo "$driver" >"$RUN/driver"
	echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$RUN/policy.json"
	printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' localhost 127.0.0.1 >"$RUN/registries.conf"
	# Kubernetes' own tests have a mirror of the registry of their images.
	[[ -z ${KUBERNETES_MIRROR:-} ]] ||
		printf '[[registry]]\nlocation = "registry.k8s.io"\n[[registry.mirror]]\nlocation = "%s"\ninsecure = true\n' "$KUBERNETES_MIRROR" >>"$RUN/registries.conf"
	printf '[storage]\ndriver = "%s"\ngraphroot = "%s"\nrunroot = "%s"\n' "$driver" "$LIB/storage" "$RUN/storage" >"$RUN/storage.conf"
	cat >"$RUN/crio.conf" <<-EOF
		[crio]
		root = "$LIB/storage"
		runroot = "$RUN/storage"
		storage_driver = "$driver"
		log_dir = "$LIB/logs"
		version_file = "$RUN/version"
		version_file_persist = ""
		clean_shutdown_file = "$RUN/clean.shutdown"
		[crio.api]
		listen = "$SOCKET"
		stream_address = "127.0.0.1"
		stream_port = "0"
		[crio.runtime]
		default_runtime = "runc"
		cgroup_manager = "$manager"
		conmon_cgroup = "pod"
		pinns_path = "$CRIO_DIR/pinns"
		namespaces_dir = "$RUN/ns"
		container_exits_dir = "$RUN/exits"
		container_attach_socket_dir = "$RUN/attach"
		enable_pod_events = $events
		hooks_dir = []
		irqbalance_config_file = ""
		irqbalance_config_restore_file = "disable"
		[crio.image]
		pause_image = "$PAUSE_IMAGE"
		pause_command = "/pause"
		signature_policy = "$RUN/policy.json"
		signature_policy_dir = "$RUN/policies"
		[crio.network]
		network_dir = "$RUN/cni"
		plugin_dirs = ["$RUN/cni-bin"]
		[crio.nri]
		enable_nri = false
	EOF
	crio_handler runc
	! has_crun || crio_handler crun
}

# crio_handler adds a runtime handler, which is named after its OCI runtime.
crio_handler() {
	cat >>"$RUN/crio.conf" <<-EOF
		[crio.runtime.runtimes.$1]
		runtime_path = "$(oci_runtime "$1")"
		runtime_type = "oci"
		runtime_root = "$RUN/$1"
		monitor_path = "$(command -v conmon)"
	EOF
}

load_images_crio() {
	copy_image "$PAUSE_IMAGE" "$IMAGES/pause.tar"
	copy_image "$TEST_IMAGE" "$IMAGES/busybox.tar"
}

copy_image() {
	tool ready -timeout 300ms -image "$1" "$ENDPOINT" >/dev/null 2>&1 || copy_archive "docker-archive:$2" "$1"
}

load_crio_events() { load_crio "$1"; }

# load_crio gives the image the name that the archive has for it.
load_crio() {
	local name
	name=$(tar -xOf "$1" index.json | jq -er '.manifests[0].annotations["io.containerd.image.name"]')
	copy_archive "oci-archive:$1" "$name"
}

copy_archive() {
	CONTAINERS_STORAGE_CONF=$RUN/storage.conf quietly skopeo --insecure-policy copy "$1" \
		"containers-storage:[$(<"$RUN/driver")@$LIB/storage+$RUN/storage]$2"
}
