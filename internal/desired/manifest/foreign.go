package manifest

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// This file names the files of other programs that are found where manifests are expected,
// and says how pods come out of them.

// foreign is a file of another program: what it is, and what to do.
type foreign struct{ message, hint string }

// kustomizations are the names under which kustomize looks for its own file.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// IsKustomization reports by its name whether a file makes its directory one of kustomize,
// whose manifests are not what is to run.
func IsKustomization(name string) bool { return slices.Contains(kustomizations, name) }

var plainPath = lazyregexp.New(`^[\w./][\w./+@-]*$`)

// dirOf returns the directory of a file as a shell reads it, or a word for it.
func dirOf(file string) string {
	if dir := filepath.Dir(file); plainPath().MatchString(dir) && file != "stdin" {
		return dir
	}
	return "DIR"
}

// fileOf returns a file as a shell reads it, or a word for it.
func fileOf(file string) string {
	if plainPath().MatchString(file) && file != "stdin" {
		return file
	}
	return "FILE"
}

// isConfiguration reports whether an API group is of files that configure programs, and not of
// objects of a cluster.
func isConfiguration(version string) bool {
	group, _, _ := strings.Cut(version, "/")
	return strings.HasSuffix(group, ".config.k8s.io") || slices.Contains([]string{"kubeadm.k8s.io", "audit.k8s.io", "kind.x-k8s.io"}, group)
}

// foreignObject returns what a mapping is that is no object of a cluster, nil if it may be one.
func foreignObject(file, version, kind string, doc map[string]any) *foreign {
	base := filepath.Base(file)
	has := func(key string) bool { return doc[key] != nil }
	_, services := doc["services"].(map[string]any)
	switch {
	case strings.HasPrefix(version, "kustomize.config.k8s.io/") || kind == "" && IsKustomization(base):
		if kind == "Component" {
			return &foreign{"a component of kustomize, which changes the manifests of others", "kubectl kustomize DIR | podctl run - with the DIR of a kustomization that names it"}
		}
		return &foreign{"a file of kustomize, which changes the manifests that it names", "kubectl kustomize " + dirOf(file) + " | podctl run -"}
	case kind != "":
		return nil
	case base == "Chart.yaml" || has("name") && has("version") && (version == "v1" || version == "v2"):
		return &foreign{"a chart of Helm", "helm template " + dirOf(file) + " | podctl run -"}
	case version != "":
		return nil
	case strings.HasPrefix(base, "values") && !has("metadata"):
		return &foreign{"the values of a chart of Helm", "helm template " + dirOf(file) + " | podctl run -"}
	case services || strings.Contains(base, "compose") && !has("metadata"):
		return &foreign{"a file of Docker Compose", "kompose convert -f " + fileOf(file) + " --stdout | podctl run -"}
	}
	return nil
}

// foreignValue returns what a document is that is no mapping, nil if it is not known.
func foreignValue(value any) *foreign {
	if text, ok := value.(string); ok && strings.HasPrefix(text, "FROM ") {
		return &foreign{"a Dockerfile", "build the image and load it into the runtime: docs/images.md"}
	}
	items, _ := value.([]any)
	if len(items) == 0 {
		return nil
	}
	first, _ := items[0].(map[string]any)
	switch {
	case first["op"] != nil && first["path"] != nil:
		return &foreign{"a JSON patch, which changes another manifest", "kubectl kustomize DIR | podctl run - with the DIR of the kustomization that names it"}
	case first["hosts"] != nil || first["import_playbook"] != nil:
		return &foreign{"a playbook of Ansible", ""}
	case first["Id"] != nil && first["Config"] != nil:
		return &foreign{"the description of a container, as docker inspect prints it", "podman kube generate NAME | podctl run -"}
	}
	return nil
}

var (
	unitSection = lazyregexp.New(`(?m)^\[(Unit|Service|Install|Container|Pod|Kube|Volume|Network|Image|Build|Timer|Socket)\][ \t\r]*$`)
	dockerfile  = lazyregexp.New(`(?m)\A(?:#.*\n|\s*\n|ARG .*\n)*FROM \S+`)
)

// foreignText returns what a text is that YAML cannot read, nil if it is not known.
func foreignText(text []byte) *foreign {
	switch {
	case unitSection().Match(text):
		return &foreign{"a unit of systemd, or a quadlet of podman", "podman kube generate NAME | podctl run - of a container that runs; or the file that Yaml= names"}
	case dockerfile().Match(text):
		return foreignValue("FROM ")
	}
	return nil
}
