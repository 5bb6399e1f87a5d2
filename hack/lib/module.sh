# shellcheck shell=bash
# Programs that go install refuses to build, built in a throw-away module.

# An older kubelet, and control plane, for a test beside it: PODCTL_KUBERNETES_VERSION.
KUBERNETES_VERSION=${PODCTL_KUBERNETES_VERSION:-v1.37.2}

# in_throw_away_module runs a go command that builds packages of a module with the
# versions that the module itself is built with: its requirements, what it excludes
# (which go install does not allow), and its checksums. Modules that it replaces by
# directories of its own repository are published with the same minor version.
#   in_throw_away_module MODULE VERSION WORKDIR build|test GO_ARGUMENT …
# It leaves the module's source in WORKDIR/source, a symbolic link.
in_throw_away_module() {
	local module=$1 version=$2 work=$3 verb=$4 source
	shift 4
	mkdir "$work" && cd "$work" || return
	source=$(go mod download -json "$module@$version" | jq -r .Dir) || return
	ln -s "$source" source
	sed -E "s/^module .*/module throwaway/; s#=> \./staging/src/(.*)#=> \1 ${version/#v1/v0}#" source/go.mod >go.mod
	cat source/go.sum >go.sum
	go mod edit -require "$module@$version" && env GOFLAGS='' go "$verb" -trimpath -mod=mod "$@"
}

# build_kubernetes builds programs of Kubernetes, or the test program of one package,
# into a directory.
#   build_kubernetes DIR PACKAGE …
#   build_kubernetes DIR -test PACKAGE
build_kubernetes() {
	local dir=$1 version=k8s.io/component-base/version
	local -a how=(build -o "$dir/")
	shift
	[[ $1 != -test ]] || { how=(test -c -vet=off -o "$dir/") && shift; }
	CGO_ENABLED=0 in_throw_away_module k8s.io/kubernetes "$KUBERNETES_VERSION" "$dir/work" "${how[@]}" \
		-ldflags "-s -w -X $version.gitVersion=$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")" \
		"$@" && cd / && rm -rf "$dir/work"
}
