package podsync

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Runtime is the part of a CRI client that podsync uses. Its errors tell with
// errors.Is what they are: fs.ErrNotExist (no such container, sandbox or
// image), fs.ErrExist (the name and attempt are taken),
// context.DeadlineExceeded. An error with a method RuntimeMessage() string
// gives the runtime's own words by it.
type Runtime interface {
	handler.Execer
	// PodStatus reads the statuses of exactly the sandboxes and containers
	// that p lists.
	PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error)
	RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, runtimeHandler string) (id string, err error)
	StopPodSandbox(ctx context.Context, id string) error
	RemovePodSandbox(ctx context.Context, id string) error
	CreateContainer(ctx context.Context, sandboxID string, cfg *runtimeapi.ContainerConfig, sandboxCfg *runtimeapi.PodSandboxConfig) (id string, err error)
	StartContainer(ctx context.Context, id string) error
	// StopContainer gives the container grace, in whole seconds, to end by
	// itself.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	RemoveContainer(ctx context.Context, id string) error
	// UpdateContainerResources gives a running container other resources.
	UpdateContainerResources(ctx context.Context, id string, r *runtimeapi.LinuxContainerResources) error
	// UpdatePodSandboxResources tells the runtime what the pod's cgroup is about to
	// enforce; it may refuse.
	UpdatePodSandboxResources(ctx context.Context, id string, overhead, r *runtimeapi.LinuxContainerResources) error
	// MemoryUsed is the memory that each container uses, in bytes, by its id, where
	// the runtime says.
	MemoryUsed(ctx context.Context) (map[string]int64, error)
	PullImage(ctx context.Context, image string, sandbox *runtimeapi.PodSandboxConfig, auth *runtimeapi.AuthConfig) (ref string, err error)
	// ImageStatus is nil without an error where the runtime lacks the image.
	ImageStatus(ctx context.Context, image string) (*pod.Image, error)
}

// Cgroups makes and removes pod cgroups.
type Cgroups interface {
	// Parent is the pod's cgroup as the runtime is told it, "" for none.
	Parent(p *v1.Pod) string
	Ensure(ctx context.Context, p *v1.Pod) error
	// Wanted is what the pod's cgroup is to enforce, Enforced what it does.
	Wanted(p *v1.Pod) pod.CgroupAmounts
	Enforced(p *v1.Pod) (pod.CgroupAmounts, error)
	// MemoryUsed is the memory that the pod uses, in bytes.
	MemoryUsed(p *v1.Pod) (int64, error)
	// Resize writes those amounts that are not 0.
	Resize(ctx context.Context, p *v1.Pod, a pod.CgroupAmounts) error
	Remove(ctx context.Context, uid types.UID) error
}

// Volumes keeps the pods' directories: their volumes, and the few files that
// containers are given beside them.
type Volumes interface {
	// Mount makes the pod's directory and every volume of the pod, brings those
	// that were made before up to date, and says where each is. It may be
	// repeated. The error joins one for each volume that failed; one with
	// EventMessage() string has the words of its event, one whose Harmless() bool
	// is true keeps no container from starting.
	Mount(ctx context.Context, p *v1.Pod, in pod.VolumeInput) (paths map[string]string, err error)
	Unmount(ctx context.Context, uid types.UID) error
	// BindSubPath mounts the part of a volume at path, relative to the
	// volume's host path, at target in the pod's directory. The text of an
	// error is for the pod's owner, what it wraps for the node's.
	BindSubPath(uid types.UID, volume, path, target string) error
	// WriteFile writes a file of the pod's directory, whole or not at all.
	WriteFile(uid types.UID, name string, content []byte, mode os.FileMode) (path string, err error)
	// TerminationLog makes an empty file for a container's last words.
	TerminationLog(uid types.UID, container string) (path string, err error)
	// RemoveTerminationLogs removes those of a container that are not kept.
	RemoveTerminationLogs(uid types.UID, container string, kept map[string]bool) error
}

// Host is the node that a Syncer works for. Only Sign, Features and NetworkReady
// may block.
type Host interface {
	// Sign records whose pod it is, before anything of it is on the host: a process
	// that ends at once leaves nothing then that no other could remove. It is called
	// before each start.
	Sign(p *v1.Pod) error
	// Event takes an event of a pod.
	Event(p *v1.Pod, e event.Event)
	// Resized: the running containers of the pod have all that it asks for, after it
	// was resized.
	Resized(p *v1.Pod)
	// Published takes each status as soon as it is known: before what is done
	// about it.
	Published(p *v1.Pod, s v1.PodStatus)
	// Probes returns the results of the pod's probes. It is asked whenever they
	// count, so that no result is overtaken by an older one.
	Probes(uid types.UID) pod.ProbeResults
	// Unready returns the probes of the pod that failed when they were last asked.
	Unready(uid types.UID) []event.Unready
	// Annotations returns podctl's own for the pod's sandbox: its owner and its
	// manifest.
	Annotations(p *v1.Pod) (map[string]string, error)
	// Devices returns the devices of one container of the pod, as VENDOR/CLASS=NAME.
	Devices(p *v1.Pod, container string) ([]string, error)
	// RuntimeHandler returns the pod's runtime handler, "" for the default one.
	RuntimeHandler(p *v1.Pod) string
	// Features returns what a runtime handler supports: nothing where the
	// runtime does not say, an error for a handler that it does not list.
	Features(ctx context.Context, handler string) (Features, error)
	// UserIDs returns the range of host ids of a pod with hostUsers false: the
	// same one each time, until the pod's directory is removed.
	UserIDs(ctx context.Context, uid types.UID) (first, length uint32, err error)
	// Resolver reads the node's resolv.conf; it is asked for each sync that
	// needs it, because the file changes during a pod's life.
	Resolver() (render.DNS, error)
	// NetworkReady returns nil while the node's network works, else why not. It
	// ends with ctx.
	NetworkReady(ctx context.Context) error
}

// Options are what a Syncer works with. All but NodeCredentials, Starts, Now and Log are required.
type Options struct {
	Runtime Runtime
	Cgroups Cgroups
	Volumes Volumes
	Host    Host
	Node    *render.Node
	// RuntimeName begins container ids ("containerd").
	RuntimeName string
	// NodeCredentials returns what the node has to pull an image with, tried after the
	// pod's own; nil is none.
	NodeCredentials credential.Lookup
	// Starts orders the starts of pods; nil has all start at once.
	Starts Starts
	Now    func() time.Time // nil is time.Now
	Log    *slog.Logger     // nil drops all
}

// Syncer brings what the runtime holds of a pod in line with the pod, and
// ends pods. Its methods may be called for several pods at once, but never
// twice at once for one UID. What it remembers of a pod between calls
// (back-off, why starts failed, the last status) is lost with the process and
// may be: everything that matters is in the runtime.
type Syncer struct {
	opt Options
	// begun is when the Syncer was made.
	begun time.Time

	mu   sync.Mutex
	pods map[types.UID]*memory
}

// New makes a Syncer.
func New(opt Options) *Syncer {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Syncer{opt: opt, begun: opt.Now(), pods: map[types.UID]*memory{}}
	s.opt.Host = maskedHost{opt.Host, s}
	return s
}

// Result is what a sync or a termination found.
type Result struct {
	// Terminal: the pod has Succeeded or Failed, and is to be terminated.
	Terminal bool
	// Acted: something was changed in the runtime, so that a relist of this
	// pod is worth asking for.
	Acted bool
	// Resized: containers were resized in place, which the next sync shows. No event
	// of the runtime asks for it.
	Resized bool
	// Started: a sandbox was to be created.
	Started bool
	// Deadline is when activeDeadlineSeconds will be over, zero without them:
	// the pod must be synced then, without waiting for its resync.
	Deadline time.Time
	Status   v1.PodStatus
}

// SyncInput is one sync.
type SyncInput struct {
	Pod *v1.Pod
	// Status is what the runtime held at some time after the last operation on
	// this pod ended; nil if that was nothing.
	Status *pod.Status
	// Objects are what the pod may refer to.
	Objects *pod.Objects
	// Adopted is what the containers that run were given by an earlier podctl, nil if
	// they were given what the pod asks for.
	Adopted *pod.Allocation
}

// TerminateInput is one termination.
type TerminateInput struct {
	Pod    *v1.Pod
	Status *pod.Status
	// Objects are what the pod may refer to.
	Objects *pod.Objects
	// Grace is the grace period in seconds, nil for the pod's own.
	Grace *int64
	// Override changes the status, to say why the pod is ended; may be nil.
	Override func(*v1.PodStatus)
	// Fresh reads the pod's status again, after all was stopped: the proof that
	// nothing runs, and the exit codes. Nil without an error is a pod that the
	// runtime no longer holds.
	Fresh func(ctx context.Context) (*pod.Status, error)
}

// Status returns the last status that was computed for the pod.
func (s *Syncer) Status(uid types.UID) (v1.PodStatus, bool) {
	mask := s.maskOf(uid)
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.pods[uid]
	if !ok || m.status == nil {
		return v1.PodStatus{}, false
	}
	return maskStatus(mask, *m.status.DeepCopy()), true
}

// Forget drops what is remembered of the pod.
func (s *Syncer) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}
