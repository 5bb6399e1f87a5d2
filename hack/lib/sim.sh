# shellcheck shell=bash
# A real kubelet beside a simulated runtime: podctl sim, of this checkout.

install_kubelet_sim() {
	need_no_foreign_kubelet
	build_kubelet
}

configure_kubelet_sim() {
	"$here/build" "$RUN/bin" >&2
	prepare_kubelet
}

command_kubelet_sim() { printf '%s\n' "$RUN/bin/podctl" sim --listen "$SOCKET" --loopback; }

load_images_kubelet_sim() { :; } # every image exists
