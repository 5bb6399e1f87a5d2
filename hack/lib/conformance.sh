# shellcheck shell=bash
# Kubernetes' own end-to-end tests and what they need, from its module.

CONFORMANCE_DIR=$CACHE/conformance-$KUBERNETES_VERSION

install_conformance() {
	install_packages curl curl hostname hostname
	[[ -d $CONFORMANCE_DIR ]] || say "building the end-to-end tests $KUBERNETES_VERSION, once: this takes ten minutes or more"
	once "$CONFORMANCE_DIR" go_build_conformance || unsupported "cannot build the end-to-end tests $KUBERNETES_VERSION"
}

# go_build_conformance builds the tests, what runs them in parallel, and the programs of
# their images.
go_build_conformance() {
	build_kubernetes "$1" -test k8s.io/kubernetes/test/e2e &&
		build_kubernetes "$1" github.com/onsi/ginkgo/v2/ginkgo k8s.io/kubernetes/test/images/{agnhost,nonewprivs} &&
		cp "$(go mod download -json "k8s.io/kubernetes@$KUBERNETES_VERSION" | jq -r .Dir)"/test/images/agnhost/porter/localhost.{crt,key} "$1"
}
