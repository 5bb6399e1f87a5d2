# shellcheck shell=bash
# A real kubelet beside a simulated runtime: podctl sim, of this checkout.

install_kubelet_sim() {
	install_common
	need_no_foreign_kubelet
	build_kubelet
}

configure_kubelet_sim() {
	"$here/build" "$RUN/bin" >&2
	prepare_kubelet
}

# PODCTL_DEV_SIM_RULES is a file of rules by which calls fail.
command_kubelet_sim() {
	printf '%s\n' "$RUN/bin/podctl" sim --listen "$SOCKET" --loopback ${PODCTL_DEV_SIM_RULES:+--rules "$PODCTL_DEV_SIM_RULES"}
}

load_images_kubelet_sim() { :; } # every image exists
