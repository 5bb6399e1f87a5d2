# shellcheck shell=bash
# What a private runtime needs on the host: packages, our tools, our images.

TOOLS=$CACHE/tools
IMAGES=$CACHE/images

# The names that test/live/image gives to its images.
TEST_IMAGE=docker.io/library/busybox:latest
PAUSE_IMAGE=podctl.local/pause:1

# install_packages takes pairs of what must exist (a command or a path) and
# the Debian package that has it, and installs what is missing.
install_packages() {
	local missing=()
	while (($#)); do
		command -v "$1" >/dev/null || [[ -e $1 ]] || missing+=("$2")
		shift 2
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || unsupported "install ${missing[*]} first: this host has no apt-get"
	say "installing ${missing[*]}"
	apt_install "${missing[@]}" || unsupported "cannot install ${missing[*]}"
}

# apt_install refreshes the lists only if the first attempt fails. --no-remove:
# Docker's containerd.io conflicts with Debian's runc and must not be lost.
apt_install() {
	local -a install=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300
		install -y --no-install-recommends --no-remove "$@")
	"${install[@]}" >/dev/null 2>&1 && return
	apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 || return
	"${install[@]}" >/dev/null </dev/null
}

install_common() {
	install_packages runc runc jq jq busybox busybox-static ip iproute2 flock util-linux
	[[ -n $(cni_plugins) ]] || install_packages /usr/lib/cni/bridge containernetworking-plugins
	command -v iptables >/dev/null || (install_packages iptables iptables) ||
		say "no iptables: pods reach only this host and each other, and have no host ports"
	has_go || [[ -x $TOOLS/ready ]] || unsupported "install Go first: https://go.dev/dl"
}

# cni_plugins prints the directory of the CNI plugins.
cni_plugins() {
	local dir
	for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
		if [[ -x $dir/bridge && -x $dir/portmap ]]; then
			echo "$dir"
			return
		fi
	done
}

tool() {
	local name=$1
	shift
	"$TOOLS/$name" "$@"
}

# has_go: without Go a guest of hack/vm runs what is in the cache of its host.
has_go() { command -v go >/dev/null; }

# build_tools is fast when nothing changed.
build_tools() {
	has_go || return 0
	mkdir -p "$TOOLS"
	(cd "$repo" && go build -trimpath -buildvcs=false -o "$TOOLS/" ./hack/ready) || die "cannot build hack/ready"
	(cd "$repo/test" && go build -trimpath -buildvcs=false -o "$TOOLS/" ./live/images) || die "cannot build test/live/images"
}

# build_images builds the tarballs again when their inputs are newer.
build_images() {
	mkdir -p "$IMAGES"
	(
		flock 8
		has_go || exit 0
		if [[ -f $IMAGES/pause.tar && -f $IMAGES/busybox.tar &&
			-z $(find "$TOOLS/images" "$(command -v busybox)" "$here/pause" -newer "$IMAGES/pause.tar") ]]; then
			exit
		fi
		cd "$repo" && tool images "$IMAGES"
	) 8>"$CACHE/images.lock" || die "cannot build the images"
}
