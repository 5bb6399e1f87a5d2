package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/cri"
	internalpod "github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

var (
	galleryOnly = flag.String("gallery.only", "", "regular expression of the pods of TestGallery")
	// galleryBatch is for a machine on which a pod takes minutes while forty start.
	galleryBatch = flag.Int("gallery.batch", 100, "how many pods of TestGallery hang at once, at most")
)

// fault is a row of the gallery: something that is broken for a pod, and what podctl has to
// say about it.
type fault struct {
	pod  string // its name
	what string // what is broken, for the page
	// command is starting, terminating or orphans.
	command string
	// layer and step are the right answer, evidence is a regular expression of a piece of it.
	layer, step, evidence string
	// also is a layer that is right, too, for some time; "" if there is none.
	also string
	// manifest breaks what has to be broken before there is a pod, and returns the pod.
	manifest func(g *gallery, name string) string
	// then breaks what needs a pod that starts or runs; nil if nothing does.
	then func(g *gallery, name string)
	// alone is for what breaks every pod of the runtime. leaks: the runtime leaves things of it.
	alone, leaks bool
	// without is why an owner, or one on a runtime, cannot have the fault, by owner or column.
	without map[string]string
	// missed is why podctl does not know it, by column.
	missed map[string]string
}

// faults are all of them, by family.
func faults() []fault {
	return slices.Concat(networkFaults, registryFaults, podFaults, processFaults, endFaults, runtimeFaults)
}

// why returns why the column cannot have the fault, "" if it can.
func (f *fault) why(column string) string {
	for of, why := range f.without {
		if strings.HasPrefix(column+" ", of+" ") {
			return why
		}
	}
	return ""
}

// gallery is a column: pods of one owner on one runtime, which have the faults.
type gallery struct {
	*place
	column  string // "podctl on containerd"
	client  *cri.Client
	network *live.Network
	disk    string // a directory of the runtime's disk
	root    string // where the owner has its pods' directories
	suffix  string // of the pods' names
	put     func(file, manifest string)
	remove  func(file string)
	mends   []func()
	// registries are those of the pods that have one of their own.
	registries map[string]*live.ImageRegistry
	answers    map[string]*galleryAnswer // by pod
}

// galleryAnswer is what podctl said about the pod of a fault.
type galleryAnswer struct {
	Layer    string `json:"layer"` // "-" if it never named one
	Step     string `json:"step,omitempty"`
	Evidence string `json:"evidence,omitempty"` // the piece that the fault asks for
	Wrong    string `json:"wrong,omitempty"`    // the first wrong layer
	wrong    string // all of that accusation
	last     string // all of it
}

// TestGallery injects every fault into a pod of podctl's and of a kubelet's, on each runtime.
// -update writes docs/gallery.md.
func TestGallery(t *testing.T) {
	kinds := map[string]string{live.Containerd: live.KubeletKind, live.CRIO: live.KubeletCRIOKind}
	for _, kind := range live.Kinds() {
		if kinds[kind] == "" {
			continue
		}
		for owner, column := range map[string]func(*testing.T) *gallery{
			"podctl":  func(t *testing.T) *gallery { return podctlGallery(t, kind) },
			"kubelet": func(t *testing.T) *gallery { return kubeletGallery(t, kinds[kind], kind) },
		} {
			t.Run(owner+"/"+kind, func(t *testing.T) {
				g := column(t)
				g.open(*galleryOnly)
				keep(t, g.column, g.answers)
			})
		}
	}
}

// TestFaultsAreNamed injects five of the faults, on the first kind of runtime.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	podctlGallery(t, live.Kinds()[0]).open("^(cni-exits|no-hostpath|no-command|never-ready|deaf)$")
}

// diskSize is the size of the runtime's disk.
const diskSize = "256m"

func podctlGallery(t *testing.T, kind string) *gallery {
	rt := live.Runtime(t, kind, live.Private())
	disk := rt.SmallDisk(t, diskSize)
	a := withAgent(t, rt)
	g := newGallery(a.place, "podctl on "+kind)
	g.disk, g.root, g.put, g.remove = disk, a.path("root"), a.put, a.remove
	agent := a.agent("--drain")
	t.Cleanup(func() {
		if t.Failed() {
			out, errw := agent.output()
			t.Logf("the agent's last lines:\n%s%s", tail(out), errw)
		}
		agent.ends(syscall.SIGTERM, 0)
	})
	return g
}

func kubeletGallery(t *testing.T, kubeletKind, kind string) *gallery {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	k := live.StartKubeletOf(t, kubeletKind, "--serialize-image-pulls=false")
	disk := k.Runtime.SmallDisk(t, diskSize)
	g := newGallery(makePlace(t, k.Runtime), "kubelet on "+kind)
	g.disk, g.root, g.suffix = disk, k.Root, "-"+strings.ToLower(host)
	g.put = func(file, manifest string) { k.WriteStatic(t, file, manifest) }
	g.remove = func(file string) { k.RemoveStatic(t, file) }
	return g
}

func newGallery(p *place, column string) *gallery {
	client, err := cri.Connect(p.t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: p.endpoint}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	return &gallery{place: p, column: column, client: client, network: p.rt.FaultyNetwork(p.t), answers: map[string]*galleryAnswer{}, registries: map[string]*live.ImageRegistry{}}
}

// healthy is the name of a pod that has no fault.
const healthy = "healthy"

// open injects the faults of pods that match a regular expression, those at once that leave
// other pods alone, beside a pod that has none: its network makes the bridge, which pods that
// start at once cannot.
func (g *gallery) open(pods string) {
	g.put(healthy+".yaml", pod(healthy, server, brief))
	g.process(healthy)
	defer g.remove(healthy + ".yaml")
	only := regexp.MustCompile(pods)
	var together []fault
	var alone []fault
	for _, f := range faults() {
		switch {
		case f.why(g.column) != "" || !only.MatchString(f.pod):
		case f.alone:
			alone = append(alone, f)
		default:
			together = append(together, f)
		}
	}
	for batch := range slices.Chunk(together, *galleryBatch) {
		g.hang(batch)
	}
	for _, f := range alone {
		g.hang([]fault{f})
	}
}

// hang injects faults, and watches until podctl has said of each what it is.
func (g *gallery) hang(hung []fault) {
	defer g.mend(hung)
	for _, f := range hung {
		g.answers[f.pod] = &galleryAnswer{Layer: "-"}
		g.put(f.pod+".yaml", f.manifest(g, f.pod))
	}
	for _, f := range hung {
		if f.then != nil {
			f.then(g, f.pod)
		}
	}
	testutil.Poll(timeout, func() bool { return g.judges(hung) })
	for _, f := range hung {
		switch a := g.answers[f.pod]; {
		case a.wrong != "":
			g.t.Errorf("%s: %s accuses a wrong layer, want %s: %s", f.pod, f.command, f.layer, a.wrong)
		case a.Layer != f.layer && f.missed[g.column] != "":
			g.t.Logf("%s: %s does not know it: %s", f.pod, f.command, f.missed[g.column])
		case a.Layer != f.layer:
			g.t.Errorf("%s: %s does not name the layer %s, step %q, evidence %s: %s\n%s", f.pod, f.command, f.layer, f.step, f.evidence, a.last, g.prints(f.command))
		default:
			g.t.Logf("%s: %s: %s, step %q: %s", f.pod, f.command, a.Layer, a.Step, a.Evidence)
		}
	}
}

// mend repairs everything, removes the pods, and waits until they are gone.
func (g *gallery) mend(hung []fault) {
	for _, f := range hung {
		if _, err := os.Stat(filepath.Join(g.path("gone"), f.pod)); err != nil {
			g.remove(f.pod + ".yaml")
		}
	}
	g.network.Mend(g.t)
	for _, mend := range slices.Backward(g.mends) {
		mend()
	}
	g.mends = nil
	var left []string
	testutil.Eventually(g.t, 2*timeout, "the pods go", func() bool {
		left = nil
		list, err := g.client.ListPods(g.t.Context())
		for _, p := range list {
			if p.Name != healthy+g.suffix {
				left = append(left, p.Name)
			}
		}
		return err == nil && len(left) == 0
	}, func() string { return fmt.Sprint(left) + g.does("terminating") })
	if slices.ContainsFunc(hung, func(f fault) bool { return f.leaks }) {
		g.removeLeaks()
	}
}

// mended adds what ends a fault.
func (g *gallery) mended(do func()) { g.mends = append(g.mends, do) }

// takes removes the manifest of a pod, which its owner then terminates.
func (g *gallery) takes(name string) {
	g.t.Helper()
	g.remove(name + ".yaml")
	if err := os.WriteFile(filepath.Join(g.mkdir("gone"), name), nil, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// container waits until a container of the pod runs, and returns its first process.
func (g *gallery) process(name string) (p proc.Process) {
	g.t.Helper()
	eventually(g.t, name+" runs", func() bool {
		for _, c := range g.listed(name).Containers {
			if c.State != internalpod.Running {
				continue
			}
			status, err := g.client.ContainerProcess(g.t.Context(), c.ID)
			if err != nil {
				return false
			}
			p, err = proc.Default.Read(status.PID)
			return err == nil
		}
		return false
	}, func() string { return g.does("pods") })
	return p
}

// listed is the pod as the runtime lists it, an empty one if it does not.
func (g *gallery) listed(name string) *internalpod.Pod {
	g.t.Helper()
	list, err := g.client.ListPods(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name+g.suffix {
			return p
		}
	}
	return &internalpod.Pod{}
}

// item is a pod in the list of any of the commands.
type item struct {
	Metadata          struct{ Name string }
	Step, Layer, Why  string
	Class, Confidence string
	LastError         string
	Evidence          []struct{ Text string }
}

func (i *item) texts() []string {
	texts := []string{i.Why, i.LastError}
	for _, e := range i.Evidence {
		texts = append(texts, e.Text)
	}
	return texts
}

// judges runs the commands once, and reports whether each has said what it has to.
func (g *gallery) judges(hung []fault) bool {
	lists := map[string]map[string]*item{}
	all := true
	for i := range hung {
		f := &hung[i]
		if lists[f.command] == nil {
			lists[f.command] = g.lists(f.command)
		}
		if found := lists[f.command][f.pod+g.suffix]; found != nil {
			g.answers[f.pod].take(f, found)
		}
		all = all && (g.answers[f.pod].Layer == f.layer || f.missed[g.column] != "")
	}
	return all
}

// prints runs a command and returns all that it prints, for a failure.
func (g *gallery) prints(command string) string {
	out, errw, code := g.podctl(command)
	return fmt.Sprintf("%s%sexit code %d", out, errw, code)
}

// lists runs a command and returns what it lists by name, also if the runtime does not answer.
func (g *gallery) lists(command string) map[string]*item {
	g.t.Helper()
	out, errw, code := g.podctl(command, "-o", "json")
	var list []*item
	if err := json.Unmarshal([]byte(out), &list); (code != 0 && code != exitUnreachable) || code == 0 && err != nil {
		g.t.Fatalf("%s: exit code %d: %v\n%s%s", command, code, err, out, errw)
	}
	items := map[string]*item{}
	for _, i := range list {
		items[i.Metadata.Name] = i
	}
	return items
}

// take notes what a command says.
func (a *galleryAnswer) take(f *fault, i *item) {
	a.last = fmt.Sprintf("%s, step %q, %s: %s", i.Layer, i.Step, i.Confidence, strings.Join(i.texts(), "; "))
	switch {
	case i.Layer == "-" || i.Layer == "" || i.Layer == f.also:
	case i.Layer != f.layer:
		if a.wrong == "" {
			a.Wrong, a.wrong = i.Layer, a.last
		}
	case f.step != "" && i.Step != f.step:
	default:
		evidence := regexp.MustCompile(f.evidence)
		if n := slices.IndexFunc(i.texts(), evidence.MatchString); n >= 0 {
			a.Layer, a.Step, a.Evidence = i.Layer, i.Step, i.texts()[n]
		}
	}
}
