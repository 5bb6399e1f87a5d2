package node

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/internal/worker"
	"github.com/podctl/podctl/testkit/testutil"
)

// world is a simulated runtime and a root directory that podctls come to and
// leave. It lives in a synctest bubble.
type world struct {
	t       testing.TB
	sim     *sim.Runtime
	root    string
	cgroups *fakeCgroups
	// removing is called before the directory of a pod is removed, unless it is nil.
	removing func()
	// watch, if set, is told of every call that a podctl makes.
	watch cri.CallWatcher
	// separateImages: the images have a file system of their own.
	separateImages bool
	// partly: podctls that start do not know in full what is wanted.
	partly bool
	// killUnknown: podctls stop unknown pods.
	killUnknown bool
	// allocatable bounds the nodes that start, nil does not.
	allocatable v1.ResourceList
	// plegNow is the clock of the PLEGs that start; nil is the bubble's.
	plegNow func() time.Time
	// locks is the name of the lock directory of the nodes that start: the id of their
	// runtime; "" is "locks".
	locks string
	// owners are OwnersElsewhere of the nodes that start.
	owners func(context.Context, []*pod.Pod) (Owners, error)
	// otherPods is OtherPods of the nodes that start.
	otherPods func(context.Context) (map[types.UID]string, error)
	// sharedCgroups: others may have pods below the cgroup root.
	sharedCgroups bool
	// logSpace is what is free for logs, in bytes; 0 is not known.
	logSpace atomic.Int64
	// observer of the nodes that start, nil is none.
	observer Observer
	// setBy is by how much the clock was set, for what the runtime dates.
	setBy atomic.Int64
	// told, if set, is called with each event.
	told func(format string, args ...any)
	// foreignIDs are the sandboxes and containers of foreign pods, by id.
	foreignIDs sync.Map
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, root)
		test(t, w)
		w.sim.Close()
	})
}

// newWorld makes the world of a bubble.
func newWorld(t testing.TB, root string) *world {
	w := &world{t: t, root: root, cgroups: &fakeCgroups{made: map[types.UID]bool{}}}
	w.sim = sim.New(sim.Options{Record: true, Clock: func() time.Time { return time.Now().Add(time.Duration(w.setBy.Load())) }})
	return w
}

// podctl is one process: a node with its locks.
type podctl struct {
	*Node
	t      testing.TB
	world  *world
	client *cri.Client
	locks  *owner.Locks
	end    context.CancelFunc
	ran    chan error

	mu     sync.Mutex
	events []event.Event

	// wanted is what a history desires of it, silent since when pods of these say nothing.
	wanted []Desired
	silent map[types.UID]time.Time
	// stopping is since when pods stop while another operation of theirs is in flight.
	stopping map[types.UID]time.Time
}

const testSource = "test"

// podctl starts one under the name, desiring the manifests.
func (w *world) podctl(instance string, manifests ...string) *podctl {
	w.t.Helper()
	return w.start(instance, func(p *podctl) {
		if w.partly {
			p.SetPartly(testSource, desire(w.t, manifests...), nil)
		} else {
			p.want(manifests...)
		}
	})
}

// start starts a podctl that first reads its source.
func (w *world) start(instance string, read func(*podctl)) *podctl {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	p := &podctl{t: w.t, world: w, end: cancel, ran: make(chan error, 1)}
	var err error
	if p.client, err = cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: w.sim.Dial, Watcher: w.watch}); err != nil {
		w.t.Fatal(err)
	}
	if p.locks, err = owner.Open(filepath.Join(w.root, cmp.Or(w.locks, "locks")), instance, proc.FS(testutil.EmptyProc(w.t))); err != nil {
		w.t.Fatal(err)
	}
	facts := &render.Node{
		Name: "node", IPs: []string{"192.0.2.1"}, MemoryCapacity: 8 << 30, CgroupV2: true,
		PodsDir: filepath.Join(w.root, "pods"), LogDir: filepath.Join(w.root, "logs"),
	}
	dirs := poddir.New(facts.PodsDir, p.locks.Runtime())
	facts.DirName = dirs.Name
	sysctls, err := admission.NewSysctls("6.1", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	p.Node = New(Options{
		Admission: admission.Policy{Sysctls: sysctls}, Allocatable: w.allocatable, Observer: w.observer,
		Instance: instance, Sources: []string{testSource}, Runtime: p.client, Locks: p.locks, Facts: facts,
		Cgroups: w.cgroups, Dirs: dirs, Volumes: removals{volume.NewNamed(w.root, dirs.Name), w},
		PLEG:        pleg.Options{Now: w.plegNow},
		KillUnknown: w.killUnknown, OwnersElsewhere: w.owners, OtherPods: w.otherPods, KeepLeftoverCgroups: w.sharedCgroups, Host: worldHost{StaticHost{facts}, w},
		Events: func(ev event.Event) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.events = append(p.events, ev)
			if w.told != nil {
				w.told("%s: %s/%s %s: %s", instance, ev.Name, ev.Container, ev.Reason, ev.Text())
			}
		},
	})
	read(p)
	go func() { p.ran <- p.Run(ctx) }()
	return p
}

// want sets what is desired.
func (p *podctl) want(manifests ...string) {
	p.t.Helper()
	p.Set(testSource, desire(p.t, manifests...), nil)
}

func desire(t testing.TB, manifests ...string) []Desired {
	t.Helper()
	var pods []Desired
	for _, text := range manifests {
		set, err := manifest.Load(t.Context(), []string{"-"}, manifest.LoadOptions{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range set.Pods {
			pods = append(pods, Desired{Pod: m.Pod, Document: m.Document, Workload: m.Workload})
		}
	}
	return pods
}

// kill ends the process as SIGKILL does: nothing is reported, and its
// locks are released by the kernel.
func (p *podctl) kill() {
	p.t.Helper()
	p.end()
	if err := <-p.ran; err != nil {
		p.t.Error(err)
	}
	p.client.Close()
	if err := p.locks.Close(); err != nil {
		p.t.Error(err)
	}
}

// drain ends all pods, and the process.
func (p *podctl) drain() {
	p.t.Helper()
	if err := p.Drain(p.t.Context(), nil); err != nil {
		p.t.Error(err)
	}
	p.kill()
}

// until waits until a pod of the name satisfies the condition; a minute of
// virtual time without it fails the test.
func (p *podctl) until(name string, what string, is func(Info) bool) Info {
	p.t.Helper()
	for range 600 {
		for _, i := range p.Pods() {
			if i.Pod.Name == name && is(i) {
				synctest.Wait() // what it has led to is done
				return i
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("pod %s never was %s; it is %+v\nevents: %v", name, what, p.Pods(), p.reasons())
	return Info{}
}

func running(i Info) bool  { return i.Status.Phase == v1.PodRunning && i.Ready() }
func finished(i Info) bool { return i.WorkerPhase == worker.Finished }

func (p *podctl) reasons() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, ev := range p.events {
		all = append(all, ev.Reason)
	}
	return all
}

// exceeded are the names of the pods that a warning said still run after their
// grace period.
func (p *podctl) exceeded() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, ev := range p.events {
		if ev.Reason == event.ExceededGracePeriod && ev.Warning && ev.Text() == "Container runtime did not kill the pod within specified grace period." {
			names = append(names, ev.Name)
		}
	}
	return names
}

// client is one of the runtime that is no podctl's.
func (w *world) client() *cri.Client {
	w.t.Helper()
	client, err := cri.Connect(w.t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: w.sim.Dial})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// empty fails the test if anything is left of any pod.
func (w *world) empty() {
	w.t.Helper()
	client := w.client()
	defer client.Close()
	pods, err := client.ListPods(w.t.Context())
	if err != nil || len(pods) > 0 {
		violate(w.t, nothingLeft, "in the runtime: %v %v", pods, err)
	}
	for _, dir := range []string{"pods", "logs", "locks"} {
		if left := w.left(dir); len(left) > 0 {
			violate(w.t, nothingLeft, "in %s: %v", dir, left)
		}
	}
	if len(w.cgroups.made) > 0 {
		violate(w.t, nothingLeft, "cgroups: %v", w.cgroups.made)
	}
}

// left lists a directory.
func (w *world) left(dir string) []os.DirEntry {
	entries, _ := os.ReadDir(filepath.Join(w.root, dir))
	return entries
}

// calls are the runtime calls that changed something, as "Method what".
func (w *world) calls(methods ...string) []string {
	if len(methods) == 0 {
		methods = []string{"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox"}
	}
	var all []string
	for _, c := range w.sim.Calls(methods...) {
		all = append(all, c.String())
	}
	return all
}

// removals are the volumes of a world that is told which directories are removed.
type removals struct {
	*volume.Manager
	w *world
}

func (r removals) RemovePod(ctx context.Context, uid types.UID) error {
	if r.w.removing != nil {
		r.w.removing()
	}
	return r.Manager.RemovePod(ctx, uid)
}

// fakeCgroups are the machine's: what one podctl made is there for the next.
type fakeCgroups struct {
	mu   sync.Mutex
	made map[types.UID]bool
	// busy have a process.
	busy map[types.UID]bool
	// ensuring is called before one is made, unless it is nil.
	ensuring func(*v1.Pod)
}

func (c *fakeCgroups) Parent(*v1.Pod) string { return "" }

func (c *fakeCgroups) Ensure(_ context.Context, p *v1.Pod) error {
	if c.ensuring != nil {
		c.ensuring(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[p.UID] = true
	return nil
}

func (c *fakeCgroups) Wanted(p *v1.Pod) pod.CgroupAmounts { return cgroup.PodLimits(p).Amounts() }

func (c *fakeCgroups) Enforced(*v1.Pod) (pod.CgroupAmounts, error) { return pod.CgroupAmounts{}, nil }

func (c *fakeCgroups) MemoryUsed(*v1.Pod) (int64, error) { return 0, nil }

func (c *fakeCgroups) Resize(context.Context, *v1.Pod, pod.CgroupAmounts) error { return nil }

func (c *fakeCgroups) Remove(_ context.Context, uid types.UID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.made, uid)
	return nil
}

func (c *fakeCgroups) RemoveEmptyParents() error { return nil }

func (c *fakeCgroups) List() ([]types.UID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.made)), nil
}

func (c *fakeCgroups) Leftover(uid types.UID) (l cgroup.Leftover, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cgroup.Leftover{UID: uid}, !c.busy[uid], nil
}

func (c *fakeCgroups) RemoveLeftover(ctx context.Context, l cgroup.Leftover) error {
	return c.Remove(ctx, l.UID)
}

// podYAML is a pod with one container c.
func podYAML(name, command string, more ...string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  ` + strings.Join(append(more, "containers:"), "\n  ") + `
  - {name: c, image: "busybox:1", command: [sh, -c, '` + command + `']}
`
}

const job = "restartPolicy: Never"

// fixUID fixes the uid of the manifest of a pod.
func fixUID(name, manifest string) string {
	return strings.Replace(manifest, "{name: "+name+"}", "{name: "+name+", uid: fixed-1}", 1)
}

// worldHost is the host of the world's nodes.
type worldHost struct {
	StaticHost
	w *world
}

// HasDedicatedImageFs implements Host.
func (h worldHost) HasDedicatedImageFs(context.Context) (bool, error) { return h.w.separateImages, nil }

// FreeLogSpace implements Host: it is not known unless the test sets it.
func (h worldHost) FreeLogSpace() (uint64, error) {
	if free := h.w.logSpace.Load(); free != 0 {
		return uint64(free), nil
	}
	return 0, errors.ErrUnsupported
}
