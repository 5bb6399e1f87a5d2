package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/podctl/podctl/"

// row is a district, or a package of one with a rule of its own: what it may import of
// this module, beside its own district.
type row struct {
	path string
	// imports are districts and packages.
	imports []string
	// idea is printed with a breach, so that its author sees the reason.
	idea string
}

// districts are the directories below internal/: imports point from a row to rows above it.
var districts = []row{
	{"internal/sys", nil, "files, locks, processes and other small tools"},
	{"internal/pod", []string{"internal/sys"}, "vocabulary: pods, events, secrets"},
	{"internal/services", []string{"internal/pod", "internal/sys"}, "Services and DNS among the pods of a machine"},
	{"internal/cri", []string{"internal/pod", "internal/sys"}, "a runtime: its socket, its logs and streams"},
	{"internal/worker", []string{"internal/pod", "internal/sys"}, "pure Step: when a pod is synced, terminated, cleaned up"},
	{"internal/preempt", []string{"internal/pod", "internal/sys"}, "pure: whether a pod fits, and which pods the kubelet would preempt for it"},
	{"internal/pleg", []string{"internal/cri", "internal/pod", "internal/sys"}, "lifecycle events from relists and hints"},
	{"internal/desired", []string{"internal/pod", "internal/sys"}, "what should run: manifests, read and followed"},
	{"internal/owners", []string{"internal/cri", "internal/desired", "internal/pod", "internal/services", "internal/sys"}, "whose pod is this: everybody who may own it is asked, and one table judges"},
	{"internal/node", []string{"internal/cri", "internal/desired", "internal/owners", "internal/pleg", "internal/pod", "internal/preempt", "internal/sys", "internal/worker"}, "the kubelet's work: runs desired pods on one runtime"},
	{"internal/pods", []string{"internal/cri", "internal/desired", "internal/node", "internal/owners", "internal/pod", "internal/preempt", "internal/sys", "internal/worker"}, "any pod of any owner: seen, explained, entered, terminated"},
	{"internal/serve", []string{"internal/cri", "internal/desired", "internal/node", "internal/owners", "internal/pleg", "internal/pod", "internal/pods", "internal/preempt", "internal/services", "internal/sys", "internal/worker"}, "a podctl that stays: its session, metrics and journal"},
	{"internal/fleet", []string{"internal/cri", "internal/sys"}, "one command on many nodes"},
	{"internal/lab", []string{"internal/cri", "internal/desired", "internal/node", "internal/owners", "internal/pleg", "internal/pod", "internal/pods", "internal/serve", "internal/sys"}, "what people who build runtimes examine them with"},
	{"cmd/podctl", []string{"internal"}, "the commands"},
}

// exceptions are packages that may import less than their district.
var exceptions = []row{
	{"internal/pleg", []string{"internal/pod", "internal/sys/hint"}, "the PLEG knows no runtime"},
	{"internal/worker", []string{"internal/pod"}, "pure"},
	{"internal/desired/jobs", []string{"internal/desired/manifest", "internal/pod", "internal/sys"}, "pure, but for its store"},
	{"internal/node/lifecycle", []string{"internal/pod", "internal/node/poddir", "internal/sys/hint"}, "pure"},
	{"internal/node/render", []string{"internal/pod", "internal/sys/hint"}, "pure"},
	{"internal/node/device", []string{"internal/pod", "internal/sys/hint"}, "pure; CDI specifications are read"},
	{"internal/lab/conform/inside", nil, "what runs in the containers"},
	{"internal/lab/inject", []string{"internal/lab/relay", "internal/lab/rules", "internal/lab/trace"}, "carries rules out, in a proxy and in the simulated runtime"},
	{"internal/lab/relay", []string{"internal/sys"}, "passes bytes, and knows gRPC, not the CRI"},
	{"internal/lab/rules", []string{"internal/lab/relay", "internal/lab/trace", "internal/sys/bounded", "internal/sys/suggest"}, "pure"},
	{"internal/lab/trace", []string{"internal/lab/relay", "internal/pod", "internal/sys/plural"}, "pure"},
	{"internal/owners/kubelet", []string{"internal/pod", "internal/sys"}, "a kubelet is asked without a runtime"},
	{"cmd/podctl/internal/cmdline", []string{"internal/sys"}, "the order of flags, suggestions and help"},
	{"cmd/podctl/internal/output", []string{"internal/fleet", "internal/sys"}, "tables, lists in kubectl's formats, JSON, escaping"},
}

// only lists libraries that a single place may import, by prefix.
var only = []struct {
	library string
	by      []string
}{
	{"github.com/urfave/cli", []string{"cmd/podctl", "cmd/podctl/internal/cmdline", "cmd/podctl/internal/shell", "cmd/podctl/internal/run", "cmd/podctl/internal/pods", "cmd/podctl/internal/images", "cmd/podctl/internal/lab", "cmd/podctl/internal/look", "cmd/podctl/internal/node", "cmd/podctl/internal/program", "cmd/podctl/internal/pleg", "cmd/podctl/internal/plugin"}},
	{"github.com/olekukonko/tablewriter", []string{"cmd/podctl/internal/output"}},
	{"google.golang.org/grpc", []string{"internal/cri", "internal/lab/sim", "internal/lab/inject", "internal/lab/proxy", "internal/lab/relay", "internal/lab/rules", "internal/lab/recording", "internal/lab/trace", "internal/node/handler", "internal/owners/kubelet", "internal/pods/images"}},
	{"github.com/containerd/containerd/api", []string{"internal/pods/images"}},
	{"k8s.io/cri-api", []string{"internal/cri", "internal/lab/sim", "internal/lab/inject", "internal/lab/proxy", "internal/lab/rules", "internal/lab/recording", "internal/lab/trace", "internal/pods/debugger", "internal/node/credential", "internal/node/render", "internal/node/podsync"}},
	{"github.com/prometheus/", []string{"internal/serve/metrics", "internal/owners/kubelet"}},
	{"github.com/miekg/dns", []string{"internal/services"}},
	{"sigs.k8s.io/knftables", []string{"internal/services"}},
	{"github.com/robfig/cron", []string{"internal/desired/jobs"}},
	{"k8s.io/kubernetes", []string{"internal/desired/manifest"}},
	{"text/template", nil}, // with it the linker keeps all methods: docs/decisions.md
	{"html/template", nil},
}

// TestImportsPointOneWay walks the imports of every package that ends up in the program.
// Tests and test/ may import what they like.
func TestImportsPointOneWay(t *testing.T) {
	for _, pkg := range listPackages(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		r, ok := rowOf(name)
		if !ok {
			t.Errorf("%s is in no district: internal/ has those of the table", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if inner, ok := strings.CutPrefix(imported, module); ok && !r.allows(inner) {
				t.Errorf("%s imports %s, but %s may import %v\n\t%s", name, inner, r.path, r.imports, r.idea)
			}
			for _, o := range only {
				if strings.HasPrefix(imported, o.library) && !slices.ContainsFunc(o.by, func(by string) bool { return isBelow(name, by) }) {
					t.Errorf("%s imports %s, which only %v may", name, imported, o.by)
				}
			}
		}
	}
}

// TestExceptionsAddNothing: what a package with a rule of its own may import, its district may.
func TestExceptionsAddNothing(t *testing.T) {
	for _, e := range exceptions {
		i := slices.IndexFunc(districts, func(r row) bool { return isBelow(e.path, r.path) })
		district := districts[i]
		district.imports = append([]string{district.path}, district.imports...)
		for _, imported := range e.imports {
			if !district.allows(imported) {
				t.Errorf("%s may import %s, but %s may not", e.path, imported, district.path)
			}
		}
	}
}

// rowOf returns the rule of a package: its exception, else that of its district.
func rowOf(name string) (row, bool) {
	if i := slices.IndexFunc(exceptions, func(r row) bool { return r.path == name }); i >= 0 {
		return exceptions[i], true
	}
	if i := slices.IndexFunc(districts, func(r row) bool { return isBelow(name, r.path) }); i >= 0 {
		r := districts[i]
		r.imports = append([]string{r.path}, r.imports...)
		return r, true
	}
	return row{}, false
}

func (r row) allows(imported string) bool {
	return slices.ContainsFunc(r.imports, func(district string) bool { return isBelow(imported, district) })
}

// isBelow reports whether a package is the one at a path, or below it.
func isBelow(name, path string) bool { return name == path || strings.HasPrefix(name, path+"/") }

type listed struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./internal/...", "./cmd/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath != strings.TrimSuffix(module, "/")+"/internal" {
			all = append(all, p)
		}
	}
}
