package manifest

import (
	"bytes"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/testkit/testutil"
)

const (
	kubernetesPage  = "../../../docs/manifest.md"
	kubernetesBegin = "<!-- table: written by make docs from a test of internal/desired/manifest -->\n"
	kubernetesEnd   = "<!-- end of table -->\n"
)

// kubernetesModule is the directory of the module k8s.io/kubernetes that go.mod
// requires, and its version; "" if it is not in the module cache.
func kubernetesModule(t *testing.T) (dir, version string) {
	t.Helper()
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`).FindSubmatch(mod)
	if found == nil {
		t.Fatal("go.mod does not require k8s.io/kubernetes")
	}
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		cache = filepath.Join(filepath.SplitList(build.Default.GOPATH)[0], "pkg", "mod")
	}
	version = string(found[1])
	dir = filepath.Join(cache, "k8s.io", "kubernetes@"+version)
	if _, err := os.Stat(dir); err != nil {
		return "", version
	}
	return dir, version
}

// kubernetesManifests are the files of the module that may hold manifests; the
// description of the API and copies of other modules do not count.
func kubernetesManifests(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() && (name == "vendor" || name == "api") {
			return filepath.SkipDir
		}
		if slices.Contains([]string{".yaml", ".yml", ".json", ".manifest"}, filepath.Ext(strings.TrimSuffix(path, ".in"))) {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// hasPods are the kinds of documents that become pods in a cluster.
var hasPods = regexp.MustCompile(`(?m)^[\s{,]*"?kind"?\s*:\s*"?(Pod|Deployment|ReplicaSet|ReplicationController|StatefulSet|DaemonSet|Job|CronJob)"?\s*(,|}|$)`)

// placeholder is what another program has to replace first.
var placeholder = regexp.MustCompile(`\{\{|__[A-Z_]+__|\$\{?[A-Z_]+`)

// verdict is how podctl reads a document with pods.
func verdict(text []byte, l *loader) string {
	if len(l.problems) == 0 {
		return "valid"
	}
	if placeholder.Match(text) {
		return "a template: another program replaces its placeholders first"
	}
	for _, p := range l.problems {
		if p.Field == "metadata.name" && strings.Contains(p.Message, "name or generateName is required") {
			return "a template: another program adds the name"
		}
		if p.Field == "kind" {
			return "refused by podctl: the kind " + strings.Fields(p.Message)[0]
		}
		if p.Field == "apiVersion" {
			return "a version of the API that Kubernetes no longer serves"
		}
	}
	for _, p := range l.problems {
		for _, k := range kinds {
			if row := rowIn(k.tree(), parsePath(p.Field)); k.name == p.Kind && row != nil && row.Support == Refused {
				return "refused by podctl: `" + regexp.MustCompile(`\[\d+\]`).ReplaceAllString(p.Field, "[]") + "`"
			}
		}
	}
	return "invalid for the API server, too"
}

// TestKubernetesOwnManifests reads every document with pods of Kubernetes' source
// tree, and compares how many are valid, and why others are not, with the table of
// docs/manifest.md. A document that only podctl refuses has a row that says which field.
func TestKubernetesOwnManifests(t *testing.T) {
	dir, version := kubernetesModule(t)
	if dir == "" {
		t.Skipf("k8s.io/kubernetes %s is not in the module cache", version)
	}
	counts, pods, files, documents := map[string]int{}, 0, 0, 0
	examples := map[string]string{}
	for _, name := range kubernetesManifests(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before := documents
		for _, c := range split(bytes.TrimPrefix(data, []byte("\ufeff"))) {
			if !hasPods.Match(c.text) {
				continue
			}
			documents++
			l := newLoader(LoadOptions{Replicas: 1})
			l.source(t.Context(), source{name: name, data: c.text})
			set, _ := l.finish()
			reason := verdict(c.text, l)
			if reason == "valid" {
				pods += len(set.Pods)
			}
			counts[reason]++
			if examples[reason] == "" {
				examples[reason] = "k8s.io/kubernetes/" + filepath.ToSlash(name)
			}
			if strings.HasPrefix(reason, "invalid") || strings.HasPrefix(reason, "refused") {
				t.Logf("%s: %s: %s", name, reason, l.problems[0])
			}
		}
		if documents > before {
			files++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `How podctl reads the manifests in the source tree of Kubernetes %s (k8s.io/kubernetes): its tests, examples and
cluster add-ons. %d files have %d documents with pods or templates of pods; the %d valid ones run as %d pods.

| documents | | for example |
|---|---|---|
`, version, files, documents, counts["valid"], pods)
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for _, reason := range reasons {
		fmt.Fprintf(&b, "| %d | %s | `%s` |\n", counts[reason], reason, examples[reason])
	}
	t.Log("\n" + b.String())
	page, err := os.ReadFile(kubernetesPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), kubernetesBegin)
	_, tail, ended := strings.Cut(rest, kubernetesEnd)
	if !ok || !ended {
		t.Fatalf("%s has no lines %q and %q", kubernetesPage, kubernetesBegin, kubernetesEnd)
	}
	testutil.Golden(t, *update, kubernetesPage, head+kubernetesBegin+b.String()+kubernetesEnd+tail)
}
