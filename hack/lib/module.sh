# shellcheck shell=bash
# Programs that go install refuses to build, built in a throw-away module.

# An older kubelet, and control plane, for a test beside it: PODCTL_KUBERNETES_VERSION.
KUBERNETES_VERSION=${PODCTL_KUBERNETES_VERSION:-v1.37.2}

# build_in_throw_away_module builds packages of a module with the versions that
# the module itself is built with: its requirements, what it excludes (which
# go install does not allow), and its checksums. Modules that it replaces by
# directories of its own repository are published with the same minor version.
#   build_in_throw_away_module MODULE VERSION WORKDIR GO_BUILD_ARGUMENT …
# It leaves the module's source in WORKDIR/source, a symbolic link.
build_in_throw_away_module() {
	local module=$1 version=$2 work=$3 source
	shift 3
	mkdir "$work" && cd "$work" || return
	source=$(go mod download -json "$module@$version" | jq -r .Dir) || return
	ln -s "$source" source
	sed -E "s/^module .*/module throwaway/; s#=> \./staging/src/(.*)#=> \1 ${version/#v1/v0}#" source/go.mod >go.mod
	cat source/go.sum >go.sum
	go mod edit -require "$module@$version" && env GOFLAGS='' go build -trimpath -mod=mod "$@"
}

# build_kubernetes builds programs of Kubernetes into a directory.
#   build_kubernetes DIR PACKAGE …
build_kubernetes() {
	local dir=$1 version=k8s.io/component-base/version
	shift
	CGO_ENABLED=0 build_in_throw_away_module k8s.io/kubernetes "$KUBERNETES_VERSION" "$dir/work" \
		-ldflags "-s -w -X $version.gitVersion=$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")" \
		-o "$dir/" "$@" && cd / && rm -rf "$dir/work"
}
