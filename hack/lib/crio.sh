# shellcheck shell=bash
install_crio() { unsupported "crio is not supported yet"; }
