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

// common is the package that every other may import.
const common = "internal/hint"

// row is one row of the import table in docs/architecture.md.
type row struct {
	pkg string
	// module lists the packages of this module that pkg may import.
	module []string
	// idea is printed with a breach, so that its author sees the reason.
	idea string
}

var table = []row{
	{"internal/pod", nil, "vocabulary: imports nothing of this module"},
	{common, nil, "errors with advice; every package may import it"},
	{"internal/atomicfile", nil, "files that are replaced in one step"},
	{"internal/bounded", nil, "files and documents of others, read with a bound"},
	{"internal/credential", []string{"internal/bounded"}, "what images are pulled with"},
	{"internal/device", []string{"internal/pod"}, "pure: which devices containers are given; CDI specifications read"},
	{"internal/doctor", []string{"internal/pod", "internal/cri", "internal/images", "internal/inventory", "internal/kubelet", "internal/proc"}, "a runtime and its host, examined"},
	{"internal/filecopy", nil, "files in and out of containers, below descriptors"},
	{"internal/flock", nil, "locks on files, waited for until a context ends"},
	{"internal/safeurl", nil, "URLs printed without their secrets"},
	{"internal/suggest", nil, "pure: suggestions for mistyped words"},
	{"internal/testutil", []string{"internal/pod"}, "what tests share; the program does not import it"},
	{"internal/event", nil, "typed facts: what failed and in which layer"},
	{"internal/proc", nil, "processes as /proc shows them"},
	{"internal/owner", []string{"internal/flock", "internal/proc"}, "locks that say who manages a pod"},
	{"internal/apiget", []string{"internal/bounded", "internal/safeurl"}, "bounded reads of Kubernetes objects"},
	{"internal/hostroot", []string{"internal/bounded"}, "the root directory of the host, entered"},
	{"internal/kubelet", []string{"internal/pod", "internal/apiget", "internal/bounded", "internal/hostroot", "internal/proc", "internal/safeurl"}, "the kubelet that uses the same runtime"},
	{"internal/fleet", nil, "pure: one command on many nodes: targets, one answer, worst exit code"},
	{"internal/cluster", []string{"internal/apiget", "internal/fleet", "internal/stream", "internal/safeurl"}, "an API server asked for nodes and pods, and commands run through it"},
	{"internal/cluster/clustertest", nil, "an API server in memory for tests; the program does not import it"},
	{"internal/desired", []string{"internal/pod", "internal/manifest", "internal/kubelet", "internal/apiget", "internal/safeurl"}, "who says which pods belong on this node"},
	{"internal/owners", []string{"internal/control", "internal/cri", "internal/desired", "internal/hint", "internal/kubelet", "internal/owner", "internal/pod", "internal/proc"}, "whose pod is this: everybody who may own it asked, and pure: judged"},
	{"internal/inventory", []string{"internal/pod", "internal/control", "internal/cri", "internal/owners"}, "every pod of a runtime, joined"},
	{"internal/target", []string{"internal/pod", "internal/inventory", "internal/suggest"}, "pure: names, globs, selectors and ids to pods and containers"},
	{"internal/orphan", []string{"internal/pod", "internal/cri", "internal/host", "internal/inventory", "internal/owner", "internal/poddir", "internal/proc", "internal/volume", "internal/owners", "internal/stop"}, "pure Classify, find, terminate"},
	{"internal/secret", []string{"internal/pod"}, "pure: values of Secrets kept out of texts and answers"},
	{"internal/await", []string{"internal/pod", "internal/inventory"}, "pure: whether a pod has reached what a user waits for"},
	{"internal/arrival", []string{"internal/pod", "internal/admission", "internal/control", "internal/desired", "internal/host", "internal/kubelet", "internal/preempt", "internal/render", "internal/worker", "internal/safeurl"}, "pods that arrive at this node: admitted, and for which victims"},
	{"internal/manifest", []string{"internal/pod", "internal/bounded", "internal/safeurl"}, "bytes to defaulted, validated pods"},
	{"internal/source", []string{"internal/pod", "internal/bounded", "internal/manifest", "internal/safeurl"}, "directories and URLs that are followed"},
	{"internal/journal", []string{"internal/bounded", "internal/event", "internal/flock"}, "the events of pods, kept on disk"},
	{"internal/logs", []string{"internal/bounded"}, "the log files of containers, read and followed"},
	{"internal/cri", []string{"internal/pod", "internal/bounded", "internal/logs", "internal/proc"}, "a CRI socket as a typed client"},
	{"internal/stream", []string{"internal/safeurl"}, "exec, attach and port-forward over the runtime's URLs"},
	{"internal/ownsocket", nil, "a unix socket that is closed with its file"},
	{"internal/cri/sim", []string{"internal/ownsocket"}, "a CRI runtime in memory"},
	{"internal/render", []string{"internal/pod"}, "pure: pod and node facts to CRI configs"},
	{"internal/pleg", []string{"internal/pod"}, "pure Diff, and the relisting loop"},
	{"internal/pleg/tape", []string{"internal/pod", "internal/pleg"}, "what a PLEG was told, recorded and replayed"},
	{"internal/diagnose", []string{"internal/pod", "internal/control", "internal/cri", "internal/event", "internal/inventory", "internal/kubelet", "internal/poddir", "internal/proc", "internal/owners"}, "which layer a terminating pod waits for"},
	{"internal/plegstat", []string{"internal/pod", "internal/pleg", "internal/cri"}, "measuring and comparing PLEGs"},
	{"internal/worker", []string{"internal/pod", "internal/event"}, "pure Step, and a goroutine per operation"},
	{"internal/startgate", []string{"internal/pod"}, "pods start in order, a bounded number at a time"},
	{"internal/podsync", []string{"internal/pod", "internal/bounded", "internal/credential", "internal/event", "internal/render", "internal/secret", "internal/handler"}, "what SyncPod means"},
	{"internal/cgroup", []string{"internal/pod", "internal/flock"}, "pod cgroups"},
	{"internal/describe", []string{"internal/pod", "internal/cgroup", "internal/control", "internal/cri", "internal/diagnose", "internal/event", "internal/inventory", "internal/kubelet", "internal/logs", "internal/manifest", "internal/owners", "internal/secret", "internal/usage"}, "what every layer knows of one pod, on one page"},
	{"internal/usage", []string{"internal/pod", "internal/cgroup", "internal/cri", "internal/proc"}, "what containers and pods use: rates from two samples"},
	{"internal/handler", []string{"internal/pod"}, "what probes and hooks both do"},
	{"internal/probe", []string{"internal/pod", "internal/event", "internal/handler"}, "startup, liveness, readiness"},
	{"internal/volume", []string{"internal/pod", "internal/atomicfile", "internal/bounded", "internal/flock"}, "volumes to directories on disk"},
	{"internal/control", []string{"internal/bounded", "internal/pod", "internal/event", "internal/owner", "internal/ownsocket"}, "HTTP over a socket: what one podctl shows to another"},
	{"internal/metrics", []string{"internal/pod", "internal/cri", "internal/diagnose", "internal/flock", "internal/orphan", "internal/pleg", "internal/probe", "internal/survey", "internal/worker"}, "the kubelet's metrics"},
	{"internal/survey", []string{"internal/pod", "internal/cgroup", "internal/control", "internal/cri", "internal/diagnose", "internal/host", "internal/inventory", "internal/orphan", "internal/proc", "internal/owners"}, "what a cluster asks of a node, counted periodically"},
	{"internal/userns", []string{"internal/atomicfile", "internal/bounded", "internal/flock"}, "user ids of pods with a user namespace"},
	{"internal/gc", []string{"internal/pod"}, "which dead containers, sandboxes and images go"},
	{"internal/images", []string{"internal/pod", "internal/cri"}, "the images of a runtime and the pods that use them"},
	{"internal/debugger", []string{"internal/pod", "internal/cri", "internal/render"}, "a container of podctl's in the sandbox of a foreign pod"},
	{"internal/logrotate", nil, "log files that are kept small"},
	{"internal/preempt", []string{"internal/pod"}, "pure Plan"},
	{"internal/poddir", []string{"internal/pod", "internal/atomicfile", "internal/bounded"}, "the directories of pods, by runtime, and podctl.json: what the runtime cannot hold of a pod"},
	{"internal/admission", []string{"internal/pod", "internal/preempt", "internal/render"}, "pure: whether a pod may run on this node"},
	{"internal/host", []string{"internal/poddir", "internal/render", "internal/volume"}, "facts of the machine, and where podctl keeps its files"},
	{"internal/lifecycle", []string{"internal/pod", "internal/poddir"}, "pure: which pods a node has and what becomes of each"},
	{"internal/node", []string{"internal/admission", "internal/cgroup", "internal/credential", "internal/cri", "internal/device", "internal/event", "internal/flock", "internal/lifecycle", "internal/logrotate", "internal/manifest", "internal/owner", "internal/pleg", "internal/pod", "internal/poddir", "internal/podsync", "internal/preempt", "internal/probe", "internal/render", "internal/startgate", "internal/worker"}, "the only place where it all meets"},
	{"internal/stop", []string{"internal/pod", "internal/control", "internal/owner", "internal/cri", "internal/host", "internal/inventory", "internal/hint", "internal/owners", "internal/proc"}, "stop and remove pods on request"},
	{"internal/daemon", []string{"internal/"}, "a serving podctl: session, control socket, sd_notify, housekeeping schedule"},
	{"cmd/podctl", []string{"internal/", "cmd/podctl/internal/"}, "the commands as one program"},
	{"cmd/podctl/internal/cmdline", nil, "the order of flags, suggestions and help"},
	{"cmd/podctl/internal/output", []string{"internal/fleet"}, "tables, lists in kubectl's formats, JSON, escaping"},
	{"cmd/podctl/internal/startup", nil, "garbage is collected rarely while a command starts"},
	{"cmd/podctl/internal/shell", []string{"internal/control", "internal/credential", "internal/cri", "internal/cri/sim", "internal/daemon", "internal/desired", "internal/host", "internal/inventory", "internal/kubelet", "internal/owners", "internal/proc", "internal/suggest", "cmd/podctl/internal/cmdline", "cmd/podctl/internal/output"}, "what commands share: streams, global flags, lists, errors"},
	{"cmd/podctl/internal/run", []string{"internal/", "cmd/podctl/internal/"}, "the commands that run pods"},
	{"cmd/podctl/internal/pods", []string{"internal/", "cmd/podctl/internal/"}, "the commands that list and stop pods"},
	{"cmd/podctl/internal/images", []string{"internal/", "cmd/podctl/internal/"}, "the commands about images"},
	{"cmd/podctl/internal/look", []string{"internal/", "cmd/podctl/internal/"}, "the commands that look inside pods"},
	{"cmd/podctl/internal/node", []string{"internal/", "cmd/podctl/internal/"}, "the commands that examine the node"},
	{"cmd/podctl/internal/program", []string{"internal/", "cmd/podctl/internal/"}, "the commands about podctl itself"},
	{"cmd/podctl/internal/pleg", []string{"internal/", "cmd/podctl/internal/"}, "podctl pleg, and agent --observe"},
	{"cmd/podctl/internal/simpod", []string{"internal/cri/sim", "internal/pod"}, "pods on a simulated runtime, for tests"},
	{"cmd/podctl/internal/plugin", []string{"internal/cluster", "internal/fleet", "internal/manifest", "internal/stream", "cmd/podctl/internal/cmdline", "cmd/podctl/internal/output", "cmd/podctl/internal/shell"}, "the commands as a plugin of kubectl"},
	{"cmd/podctl/internal/runview", []string{"internal/event", "internal/node", "internal/worker", "internal/lifecycle", "internal/pod", "internal/logs", "internal/source", "cmd/podctl/internal/output"}, "shows a run, and why its pods failed"},
}

// only lists libraries that a single place may import, by prefix.
var only = []struct {
	library string
	by      []string
}{
	{"github.com/urfave/cli", []string{"cmd/podctl", "cmd/podctl/internal/cmdline", "cmd/podctl/internal/shell", "cmd/podctl/internal/run", "cmd/podctl/internal/pods", "cmd/podctl/internal/images", "cmd/podctl/internal/look", "cmd/podctl/internal/node", "cmd/podctl/internal/program", "cmd/podctl/internal/pleg", "cmd/podctl/internal/plugin"}},
	{"github.com/olekukonko/tablewriter", []string{"cmd/podctl/internal/output"}},
	{"google.golang.org/grpc", []string{"internal/cri", "internal/cri/sim", "internal/handler"}},
	{"k8s.io/cri-api", []string{"internal/cri", "internal/cri/sim", "internal/debugger", "internal/credential", "internal/render", "internal/podsync", "cmd/podctl/internal/simpod"}},
	{"github.com/prometheus/", []string{"internal/metrics", "internal/kubelet"}},
	{"k8s.io/kubernetes", []string{"internal/manifest"}},
}

// TestImportsFollowTheTable walks the imports of every package that ends up
// in the program. Tests and test/ may import what they like.
func TestImportsFollowTheTable(t *testing.T) {
	for _, pkg := range listPackages(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		i := slices.IndexFunc(table, func(r row) bool { return r.pkg == name })
		if i < 0 {
			t.Errorf("%s is not in the import table: add its row here and in docs/architecture.md", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if inner, ok := strings.CutPrefix(imported, module); ok && !allowed(table[i], inner) {
				t.Errorf("%s imports %s, but its row allows %v\n\t%s: %s", name, inner, table[i].module, name, table[i].idea)
			}
			for _, o := range only {
				if strings.HasPrefix(imported, o.library) && !slices.Contains(o.by, name) {
					t.Errorf("%s imports %s, which only %v may", name, imported, o.by)
				}
			}
		}
	}
}

func allowed(r row, imported string) bool {
	return imported == common || slices.ContainsFunc(r.module, func(m string) bool {
		return imported == m || (strings.HasSuffix(m, "/") && strings.HasPrefix(imported, m))
	})
}

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
