package view

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

// ProcessRuntime is what a Reader asks the runtime about processes.
type ProcessRuntime interface {
	ContainerProcess(ctx context.Context, id string) (cri.ContainerProcess, error)
	SandboxDetails(ctx context.Context, id string) (cri.Details, error)
}

// Runtime is what a Reader asks the runtime.
type Runtime interface {
	ProcessRuntime
	// PartialStatus returns what can be read, and an error if that is not all.
	PartialStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error)
	SandboxIPs(ctx context.Context, sandbox string) ([]string, error)
	ContainerDetails(ctx context.Context, id string) (cri.Details, error)
	Manifest(ctx context.Context, sandboxID string) (raw, owner string, err error)
	ImageStatus(ctx context.Context, image string) (*pod.Image, error)
	Status(ctx context.Context) (cri.RuntimeStatus, error)
}

var _ Runtime = (*cri.Client)(nil)

// Reader reads the pods of one runtime, with their owners. Read and Endings are safe for concurrent
// use, once the kubelet is set.
type Reader struct {
	owners.Asker
	Log *slog.Logger
	// Unanswered is called for each podctl process that did not answer, and if there may
	// be some that are not seen; their pods are in the runtime's listing.
	Unanswered func(error)
	// Runtime is nil if the runtime does not answer, Server the process that serves its socket.
	Runtime Runtime
	Server  cri.Server
	// PodDirs is the directory of podctl's pod directories. DirName names them; nil is their UID.
	PodDirs string
	DirName func(types.UID) string
	Cgroups string // mount point of the cgroups
	Now     func() time.Time
	// Events returns the newest events of a pod, oldest first; nil reads none.
	Events func(ctx context.Context, p *Pod) ([]Event, error)
	// KernelLog reads the kernel's log.
	KernelLog func() (KernelLog, error)
	// Denials: what the kernel's log says that containers were denied is read, too.
	Denials bool
	// Log returns the end of the log of a process; nil reads none.
	ProcessLog func(ctx context.Context, pid int) ([]byte, error)
	// Recorded: the pods are those of a recording, which has no logs and may have no cgroups.
	Recorded bool
	// LogLines is how many lines of the log of a failed container are read.
	LogLines int

	kubelet    *owners.Kubelet
	kubeletErr error
	ofKubelet  kubeletPods
	paths      paths
}

const (
	// layerTimeout bounds each layer.
	layerTimeout = 2 * time.Second
	// maxLogLine bounds a line of a log, in bytes.
	maxLogLine = 4 << 10
)

// ErrNotRecorded is why a layer of a pod in a recording is not known.
var ErrNotRecorded = errors.New("not recorded")

// LayerRuntime is the layer of all answers of the runtime.
const LayerRuntime = "runtime"

// The sources of an object.
const (
	FromPodctl  = "podctl"
	FromKubelet = "kubelet"
	FromSandbox = "sandbox"
)

// Sources is a pod while its layers are read.
type Sources struct {
	*Pod
	From    string                 // where Object was read
	Details map[string]cri.Details // by id of the container or sandbox
	Tree    *cgroup.Tree

	mu sync.Mutex // of Details and Unread
}

// seen returns a copy of the pod as it was listed, to which layers are added.
func (p *Pod) seen() *Pod {
	known := *p
	known.Unread = nil
	return &known
}

func (s *Sources) notRead(layer string, err error) {
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Unread = append(s.Unread, Unread{layer, err.Error(), err})
	}
}

// Read reads all layers of a pod at the same time, each within layerTimeout. A layer that does
// not answer in time is listed as unread.
func (r *Reader) Read(ctx context.Context, p *Pod) *Pod {
	s := &Sources{Pod: p.seen(), Details: map[string]cri.Details{}, Tree: &cgroup.Tree{}}
	s.Object = nil
	var layers sync.WaitGroup
	layer := func(name string, read func(context.Context, *Sources) error) {
		layers.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, layerTimeout)
			defer cancel()
			s.notRead(name, read(ctx, s))
		})
	}
	if r.Runtime == nil {
		s.notRead(LayerRuntime, errSilent)
	}
	layer("spec", func(ctx context.Context, s *Sources) error { return r.readObject(ctx, s, p.Object) })
	if p.Runtime != nil && r.Runtime != nil {
		layer("status", r.readStatus)
		layer("details", r.readDetails)
	}
	layer("cgroups", r.readCgroups)
	layer("events", r.readEvents)
	layers.Wait()
	unanswered := p.Manager == nil && p.Ownership().IsPodctl() // its record may have a stop
	if (s.terminating() || unanswered) && p.Runtime != nil && r.Runtime != nil {
		layer("termination", r.readEnding)
		layers.Wait()
	}
	return r.Finish(ctx, s)
}

// readObject reads the pod from the podctl process or the kubelet that manages it, else the
// spec that podctl left on the sandbox.
func (r *Reader) readObject(ctx context.Context, s *Sources, listed *v1.Pod) error {
	switch p := s.Pod; {
	case p.Manager != nil:
		object, err := p.Manager.Client(r.Dial).Pod(ctx, p.UID)
		if err != nil {
			return err
		}
		s.Object, s.From = object, FromPodctl
	case p.Kind() == KindKubelet:
		return r.readKubeletObject(s, listed)
	case r.Runtime != nil && p.NewestSandbox().HasManifest:
		raw, _, err := r.Runtime.Manifest(ctx, p.SandboxID())
		if err != nil {
			return err
		}
		object, _, err := manifest.Stored(raw) // it has no status
		if err != nil {
			return err
		}
		s.Object, s.From = object, FromSandbox
	}
	return nil
}

// readKubeletObject takes the object from the kubelet's answer.
func (r *Reader) readKubeletObject(s *Sources, object *v1.Pod) error {
	switch k := r.kubelet; {
	case k == nil:
		return nil // it was not asked, because the runtime does not answer
	case k.FindErr != nil:
		return k.FindErr
	case k.Process == nil:
		return &kubelet.AbsentError{}
	case k.Err != nil:
		return k.Err
	case object == nil:
		return errNotNamed
	}
	s.Object, s.From = object, FromKubelet
	return nil
}

// errSilent is why nothing of the runtime is known.
var errSilent = errors.New("it does not answer")

// errNotNamed is the error for a pod that its kubelet does not name.
var errNotNamed = errors.New("the kubelet does not name the pod")

func (r *Reader) readStatus(ctx context.Context, s *Sources) error {
	var err error
	s.RuntimeStatus, err = r.Runtime.PartialStatus(ctx, s.Runtime)
	return err
}

// readDetails reads the newest sandbox and the newest two attempts of each container, and
// what runs beside them.
func (r *Reader) readDetails(ctx context.Context, s *Sources) error {
	var asking sync.WaitGroup
	var failed []error
	ask := func(id string, read func(context.Context, string) (cri.Details, error)) {
		asking.Go(func() {
			d, err := read(ctx, id)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.Details[id] = d; err != nil && !errors.Is(err, cri.ErrNotFound) {
				failed = append(failed, err)
			}
		})
	}
	sandboxes, containers := s.Runtime.Superseded()
	for _, of := range s.Runtime.Sandboxes {
		if of.ID == s.SandboxID() || slices.Contains(sandboxes, of) {
			ask(of.ID, r.Runtime.SandboxDetails)
		}
	}
	seen := map[string]int{}
	for _, ct := range s.Runtime.Containers { // newest first
		if seen[ct.Name]++; seen[ct.Name] <= 2 || slices.Contains(containers, ct) {
			ask(ct.ID, r.Runtime.ContainerDetails)
		}
	}
	asking.Wait()
	if len(failed) > 0 {
		return failed[0] // the others say the same
	}
	return nil
}

// listing is the runtime's listing of the pod, with the UID alone if the runtime has none.
func (s *Sources) listing() *pod.Pod { return cmp.Or(s.Runtime, &pod.Pod{UID: s.UID}) }

func (r *Reader) readCgroups(_ context.Context, s *Sources) error {
	tree, err := cgroup.ScanPod(r.Cgroups, s.listing().GivenUID())
	if err == nil {
		s.Tree = tree
	} else if r.Recorded {
		return ErrNotRecorded
	}
	return err
}

func (r *Reader) readEvents(ctx context.Context, s *Sources) error {
	if r.Events == nil {
		return nil
	}
	var err error
	s.Events, err = r.Events(ctx, s.Pod)
	return err
}

func (s *Sources) terminating() bool {
	return s.Terminating() || s.Object != nil && s.Object.DeletionTimestamp != nil
}
