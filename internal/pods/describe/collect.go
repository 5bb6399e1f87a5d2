package describe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// Runtime is what a Collector asks the runtime.
type Runtime interface {
	// PartialStatus returns what can be read, and an error if that is not all.
	PartialStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error)
	ContainerDetails(ctx context.Context, id string) (cri.Details, error)
	SandboxDetails(ctx context.Context, id string) (cri.Details, error)
	Manifest(ctx context.Context, sandboxID string) (raw, owner string, err error)
	ImageStatus(ctx context.Context, image string) (*pod.Image, error)
}

// Collector reads the facts of a pod. It is safe for concurrent use.
type Collector struct {
	// Runtime is nil if the runtime does not answer.
	Runtime Runtime
	// Kubelet is what is known of the kubelet of the runtime, nil if it was not asked.
	Kubelet *owners.Kubelet
	// Dial connects to control sockets; nil is the machine's own.
	Dial    control.Dialer
	Cgroups string // mount point of the cgroups
	Now     func() time.Time
	// Diagnose examines a pod that is being terminated.
	Diagnose diagnose.Collector
	// Events returns the newest events of a pod, oldest first; nil reads none.
	Events func(ctx context.Context, p *inventory.Pod) ([]Event, error)
	// Pulls returns the pulls in flight; nil reads none.
	Pulls func(context.Context) ([]pulls.Pull, error)
	// KernelLog reads the kernel's log.
	KernelLog func() (KernelLog, error)
	// Recorded: the pod is one of a recording, which has no logs and may have no cgroups.
	Recorded bool
	// LogLines is how many lines of the log of a failed container are read.
	LogLines int
}

const (
	// layerTimeout bounds each layer.
	layerTimeout = 2 * time.Second
	// maxLogLine bounds a line of a log, in bytes.
	maxLogLine = 4 << 10
)

// ErrNotRecorded is why a layer of a pod in a recording is not known.
var ErrNotRecorded = errors.New("not recorded")

// layerRuntime is the layer of all answers of the runtime.
const layerRuntime = "runtime"

// collection is one call of Collect. Layers write to it under the mutex.
type collection struct {
	Collector
	pod *inventory.Pod

	mu sync.Mutex
	observed
	from    string // of the object
	tree    *cgroup.Tree
	verdict *Stopping
	next    []string // of the verdict
	events  []Event
	unread  []Unread
}

// Collect reads all layers at the same time, each within layerTimeout. A layer that does
// not answer in time is listed as unread.
func (c Collector) Collect(ctx context.Context, p *inventory.Pod) Facts {
	known := *p
	col := &collection{Collector: c, pod: &known, observed: observed{listed: p.Runtime, details: map[string]cri.Details{}}, tree: &cgroup.Tree{}}
	if p.Manager != nil {
		col.worker = &known.Worker
	}
	var layers sync.WaitGroup
	layer := func(name string, read func(context.Context) error) {
		layers.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, layerTimeout)
			defer cancel()
			if err := read(ctx); err != nil {
				col.locked(func() { col.unread = append(col.unread, Unread{name, err.Error()}) })
			}
		})
	}
	if c.Runtime == nil {
		col.unread = append(col.unread, Unread{layerRuntime, "it does not answer"})
	}
	layer("spec", col.readObject)
	if p.Runtime != nil {
		layer("status", col.readStatus)
		layer("details", col.readDetails)
	}
	layer("cgroups", col.readCgroups)
	layer("events", col.readEvents)
	layers.Wait()
	if col.terminating() && p.Runtime != nil {
		layer("termination", col.readVerdict)
		layers.Wait()
	}
	return col.finish(ctx)
}

// finish assembles the facts, and reads what depends on them.
func (c *collection) finish(ctx context.Context) Facts {
	if c.from == fromKubelet {
		c.pod.Object = c.object
	}
	c.pod.Status = c.status
	facts := c.facts()
	c.addCauses(&facts)
	c.addLogs(&facts)
	c.addPulls(ctx, &facts)
	slices.SortFunc(c.unread, func(a, b Unread) int { return strings.Compare(a.Layer, b.Layer) })
	facts.Unread, facts.Next = c.unread, nextOf(&facts, c.pod.CLIName(), c.presentImages(ctx, &facts), c.next)
	return facts
}

// presentImages returns the images that containers wait for although the runtime has them: their pull
// fails because of a tag or pull policy, and another pull does not help.
func (c *collection) presentImages(ctx context.Context, f *Facts) map[string]bool {
	held := map[string]bool{}
	if c.Runtime == nil {
		return held
	}
	ctx, cancel := context.WithTimeout(ctx, layerTimeout)
	defer cancel()
	for i := range f.Containers {
		if w := &f.Containers[i]; w.waitsForImage() {
			image, err := c.Runtime.ImageStatus(ctx, w.Image)
			held[w.Image] = err == nil && image != nil
		}
	}
	return held
}

func (c *collection) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *collection) terminating() bool {
	return c.pod.Terminating() || c.object != nil && c.object.DeletionTimestamp != nil
}

func (c *collection) readStatus(ctx context.Context) error {
	s, err := c.Runtime.PartialStatus(ctx, c.pod.Runtime)
	c.locked(func() { c.status = s })
	return err
}

// readDetails reads the newest sandbox and the newest two attempts of each container, and
// what runs beside them.
func (c *collection) readDetails(ctx context.Context) error {
	var asking sync.WaitGroup
	var failed []error
	ask := func(id string, read func(context.Context, string) (cri.Details, error)) {
		asking.Go(func() {
			d, err := read(ctx, id)
			c.locked(func() {
				if c.details[id] = d; err != nil && !errors.Is(err, cri.ErrNotFound) {
					failed = append(failed, err)
				}
			})
		})
	}
	sandboxes, containers := c.pod.Runtime.Superseded()
	for _, s := range c.pod.Runtime.Sandboxes {
		if s.ID == c.pod.Sandbox() || slices.Contains(sandboxes, s) {
			ask(s.ID, c.Runtime.SandboxDetails)
		}
	}
	seen := map[string]int{}
	for _, ct := range c.pod.Runtime.Containers { // newest first
		if seen[ct.Name]++; seen[ct.Name] <= 2 || slices.Contains(containers, ct) {
			ask(ct.ID, c.Runtime.ContainerDetails)
		}
	}
	asking.Wait()
	if len(failed) > 0 {
		return failed[0] // the others say the same
	}
	return nil
}

// listing is the runtime's listing of the pod, with the UID alone if the runtime has none.
func (c *collection) listing() *pod.Pod { return cmp.Or(c.listed, &pod.Pod{UID: c.pod.UID}) }

func (c *collection) readCgroups(context.Context) error {
	tree, err := cgroup.ScanPod(c.Cgroups, c.listing().GivenUID())
	if err == nil {
		c.locked(func() { c.tree = tree })
	} else if c.Recorded {
		return ErrNotRecorded
	}
	return err
}

func (c *collection) readEvents(ctx context.Context) error {
	if c.Events == nil {
		return nil
	}
	events, err := c.Events(ctx, c.pod)
	c.locked(func() { c.events = events })
	return err
}

// readVerdict determines what the termination waits for.
func (c *collection) readVerdict(ctx context.Context) error {
	d := c.Diagnose
	if c.pod.Kind() == inventory.KindKubelet && c.Kubelet != nil {
		view, err := diagnose.ReadKubelet(c.Kubelet, d.Proc)
		if err != nil {
			return err
		}
		d.Kubelet = view
	}
	facts := d.Terminating(ctx, []*inventory.Pod{c.pod})[0]
	if facts == nil {
		return nil
	}
	v := diagnose.Judge(*facts, c.Now())
	s := &Stopping{Since: facts.Requested, Layer: v.Layer, Confidence: v.Confidence, Why: v.Why}
	if facts.GraceLeft != nil {
		left := facts.GraceLeft.Seconds()
		s.GraceLeft = &left
	}
	c.locked(func() { c.verdict, c.next = s, v.Next })
	return nil
}

// addLogs adds the last lines of the containers that failed.
func (c *collection) addLogs(f *Facts) {
	for i := range f.Containers {
		ct := &f.Containers[i]
		end := ct.failure()
		if end == nil || ct.LogPath == "" || c.LogLines == 0 {
			continue
		}
		var lines []logs.Line
		err := ErrNotRecorded
		if !c.Recorded {
			lines, err = logs.Collect(ct.LogPath, logs.Options{Tail: int64(c.LogLines)})
		}
		if err != nil {
			c.unread = append(c.unread, Unread{"log of " + ct.Name, err.Error()})
			continue
		}
		for _, l := range lines {
			ct.LogLines = append(ct.LogLines, string(l.Text[:min(len(l.Text), maxLogLine)]))
		}
	}
}

// failure returns how a container that does not run failed, nil if it did not.
func (c *Container) failure() *End {
	end := c.End
	if c.State == stateWaiting {
		end = c.Last
	}
	if end == nil || end.ExitCode == 0 {
		return nil
	}
	return end
}
