# shellcheck shell=bash
# containerd 2.4.2, 2.2.9 and 1.7.35 from the Go module proxy, and the distribution's.

CONTAINERD_VERSION=v2.4.2
CONTAINERD_DIR=$CACHE/containerd-$CONTAINERD_VERSION
CONTAINERD_2_2_VERSION=v2.2.9
CONTAINERD_2_2_DIR=$CACHE/containerd-$CONTAINERD_2_2_VERSION
CONTAINERD_1_7_VERSION=v1.7.35
CONTAINERD_1_7_DIR=$CACHE/containerd-$CONTAINERD_1_7_VERSION
# The first runc that can give a pod user ids of its own is 1.2; Debian 12 has
# 1.1.
RUNC_VERSION=v1.2.6
RUNC_DIR=$CACHE/runc-$RUNC_VERSION
# The snapshotters that need C or a device are left out.
CONTAINERD_TAGS=no_aufs,no_btrfs,no_devmapper,no_zfs

install_containerd() { install_containerd_2 "$CONTAINERD_VERSION"; }
install_containerd_2_2() { install_containerd_2 "$CONTAINERD_2_2_VERSION"; }

install_containerd_2() {
	install_common
	[[ -d $CACHE/containerd-$1 ]] || say "building containerd $1, once: this takes a minute or two"
	once "$CACHE/containerd-$1" go_install_containerd "$1" || unsupported "cannot build containerd $1"
	(install_runc) || say "no runc $RUNC_VERSION: no pods with user namespaces"
	(install_crun) || say "no crun: no handler crun"
}

install_runc() {
	install_packages gcc gcc pkg-config pkg-config /usr/include/seccomp.h libseccomp-dev /usr/include/stdio.h libc6-dev
	once "$RUNC_DIR" go_install_runc
}

go_install_runc() {
	cd / && env CGO_ENABLED=1 GOFLAGS='' GOBIN="$1" go install -trimpath -tags seccomp \
		"github.com/opencontainers/runc@$RUNC_VERSION"
}

go_install_containerd() {
	local version=$1 module=github.com/containerd/containerd/v2
	cd / && env CGO_ENABLED=0 GOFLAGS='' GOBIN="$2" go install -trimpath -tags "$CONTAINERD_TAGS" \
		-ldflags "-X $module/version.Version=$version" \
		"$module/cmd/containerd@$version" "$module/cmd/containerd-shim-runc-v2@$version" "$module/cmd/ctr@$version"
}

install_containerd_1_7() {
	install_common
	[[ -d $CONTAINERD_1_7_DIR ]] || say "building containerd $CONTAINERD_1_7_VERSION, once: this takes a minute or two"
	once "$CONTAINERD_1_7_DIR" go_build_containerd_1_7 || unsupported "cannot build containerd $CONTAINERD_1_7_VERSION"
}

go_build_containerd_1_7() {
	local module=github.com/containerd/containerd work=$1/work
	CGO_ENABLED=0 in_throw_away_module "$module" "$CONTAINERD_1_7_VERSION" "$work" build \
		-tags "$CONTAINERD_TAGS" -ldflags "-X $module/version.Version=$CONTAINERD_1_7_VERSION" \
		-o "$1/" "$module/cmd/containerd" "$module/cmd/containerd-shim-runc-v2" "$module/cmd/ctr" &&
		cd / && rm -rf "$work"
}

install_containerd_distro() {
	install_common
	install_packages containerd containerd
}

command_containerd() { printf '%s\n' "$CONTAINERD_DIR/containerd" --config "$RUN/config.toml"; }
command_containerd_2_2() { printf '%s\n' "$CONTAINERD_2_2_DIR/containerd" --config "$RUN/config.toml"; }
command_containerd_1_7() { printf '%s\n' "$CONTAINERD_1_7_DIR/containerd" --config "$RUN/config.toml"; }
command_containerd_distro() { printf '%s\n' "$(command -v containerd)" --config "$RUN/config.toml"; }

# toml_bool prints whether the command succeeds.
toml_bool() { if "$@"; then echo true; else echo false; fi; }

# The plugins left out listen on sockets or write to directories that are the
# same for every containerd (nri, opt), or do nothing here.
configure_containerd() {
	cat >"$RUN/config.toml" <<-EOF
		version = 3
		root = "$LIB/root"
		state = "$RUN/state"
		disabled_plugins = [
			"io.containerd.internal.v1.opt",
			"io.containerd.monitor.container.v1.restart",
			"io.containerd.snapshotter.v1.blockfile",
			"io.containerd.snapshotter.v1.erofs",
		]

		[grpc]
		address = "$SOCKET"

		[plugins."io.containerd.nri.v1.nri"]
		disable = true

		[plugins."io.containerd.shim.v1.manager"]
		socket_dir = "$RUN/s"

		[plugins."io.containerd.cri.v1.images"]
		snapshotter = "$(snapshotter)"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		sandbox = "$PAUSE_IMAGE"
		[plugins."io.containerd.cri.v1.images".registry]
		config_path = "$RUN/registries"

		[plugins."io.containerd.cri.v1.runtime"]
		restrict_oom_score_adj = $(toml_bool not may_raise_priority)
		netns_mounts_under_state_dir = $(toml_bool test -z "${PODCTL_DEV_HOST_NETNS:-}") # unless a test is of containerd's default
		[plugins."io.containerd.cri.v1.runtime".cni]
		bin_dirs = ["$RUN/cni-bin"]
		conf_dir = "$RUN/cni"
	EOF
	if [[ ${KUBERNETES_MIRROR:-} ]]; then # of Kubernetes' own tests, for the registry of their images
		mkdir -p "$RUN/registries/registry.k8s.io"
		printf 'server = "http://%s"\n' "$KUBERNETES_MIRROR" >"$RUN/registries/registry.k8s.io/hosts.toml"
	fi
	handler io.containerd.cri.v1.runtime runc runc
	handler io.containerd.cri.v1.runtime runc-second runc
	[[ ! -x $RUNC_DIR/runc ]] || handler io.containerd.cri.v1.runtime runc-userns "$RUNC_DIR/runc"
	! has_crun || handler io.containerd.cri.v1.runtime crun "$(oci_runtime crun)"
}

configure_containerd_2_2() { configure_containerd; }
configure_containerd_distro() { write_containerd_1_toml; }
configure_containerd_1_7() { write_containerd_1_toml; }

# write_containerd_1_toml writes what 1.6 and 1.7 read.
write_containerd_1_toml() {
	cat >"$RUN/config.toml" <<-EOF
		version = 2
		root = "$LIB/root"
		state = "$RUN/state"
		disabled_plugins = [
			"io.containerd.internal.v1.opt",
			"io.containerd.internal.v1.restart",
			"io.containerd.snapshotter.v1.btrfs",
			"io.containerd.snapshotter.v1.devmapper",
			"io.containerd.snapshotter.v1.zfs",
			"io.containerd.snapshotter.v1.aufs",
		]

		[grpc]
		address = "$SOCKET"

		[plugins."io.containerd.nri.v1.nri"]
		disable = true

		[plugins."io.containerd.grpc.v1.cri"]
		$(if [[ $KIND == containerd-1.7 ]]; then echo enable_cdi = true; fi)
		sandbox_image = "$PAUSE_IMAGE"
		restrict_oom_score_adj = $(toml_bool not may_raise_priority)
		netns_mounts_under_state_dir = true
		[plugins."io.containerd.grpc.v1.cri".registry]
		config_path = "$RUN/registries"
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "$RUN/cni-bin"
		conf_dir = "$RUN/cni"
		[plugins."io.containerd.grpc.v1.cri".containerd]
		snapshotter = "$(snapshotter)"
	EOF
	handler io.containerd.grpc.v1.cri runc runc
	handler io.containerd.grpc.v1.cri runc-second runc
}

# handler adds a runtime handler to the configuration. Each has its containers
# in a directory of its name, by which tests tell them apart.
#   handler PLUGIN NAME BINARY
handler() {
	cat >>"$RUN/config.toml" <<-EOF
		[plugins."$1".containerd.runtimes.$2]
		runtime_type = "io.containerd.runc.v2"
		[plugins."$1".containerd.runtimes.$2.options]
		BinaryName = "$3"
		Root = "$RUN/$2"
		SystemdCgroup = $(toml_bool systemd_cgroups)
	EOF
}

not() { ! "$@"; }

# snapshotter tries an overlay mount where the snapshots will be: inside a
# container or on an odd filesystem it fails, and native works everywhere.
snapshotter() {
	local dir=$LIB/probe
	mkdir -p "$dir"/{lower,upper,work,merged}
	if mount -t overlay overlay -o "lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work" "$dir/merged" 2>/dev/null; then
		umount "$dir/merged"
		echo overlayfs
	else
		echo native
	fi
	rm -rf "$dir"
}

load_images_containerd() { import_images "$CONTAINERD_DIR/ctr"; }
load_images_containerd_2_2() { import_images "$CONTAINERD_2_2_DIR/ctr"; }
load_images_containerd_1_7() { import_images "$CONTAINERD_1_7_DIR/ctr"; }
load_images_containerd_distro() { import_images ctr; }

load_containerd() { import "$CONTAINERD_DIR/ctr" "$1"; }
load_containerd_2_2() { import "$CONTAINERD_2_2_DIR/ctr" "$1"; }
load_containerd_1_7() { import "$CONTAINERD_1_7_DIR/ctr" "$1"; }
load_containerd_distro() { import ctr "$1"; }

import_images() {
	local held
	held=$("$1" --address "$SOCKET" --namespace k8s.io images ls -q 2>/dev/null)
	grep -qxF "$PAUSE_IMAGE" <<<"$held" || import "$1" "$IMAGES/pause.tar"
	grep -qxF "$TEST_IMAGE" <<<"$held" || import "$1" "$IMAGES/busybox.tar"
}

import() { quietly "$1" --address "$SOCKET" --namespace k8s.io images import --snapshotter "$(snapshotter)" "$2"; }
