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

	"github.com/podctl/podctl/internal/handler"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
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
	PullImage(ctx context.Context, image string, sandbox *runtimeapi.PodSandboxConfig, auth *runtimeapi.AuthConfig) (ref string, err error)
	// ImageStatus is nil without an error where the runtime lacks the image.
	ImageStatus(ctx context.Context, image string) (*Image, error)
}

// Image is what the runtime says of an image.
type Image struct {
	ID string
	// UID is the image's numeric user, nil where it names one; Username is
	// that name.
	UID      *int64
	Username string
	// Size is in bytes.
	Size uint64
}

// Cgroups makes and removes pod cgroups.
type Cgroups interface {
	// Parent is the pod's cgroup as the runtime is told it, "" for none.
	Parent(p *v1.Pod) string
	Ensure(p *v1.Pod) error
	Remove(uid types.UID) error
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
}

// Events takes the pods' events. It must not block.
type Events interface{ Event(e Event) }

// Options are what a Syncer works with. Runtime, Cgroups, Volumes and Node
// are required.
type Options struct {
	Runtime Runtime
	Cgroups Cgroups
	Volumes Volumes
	Events  Events // nil drops them
	// Published is told of each status as soon as it is known: before what is
	// done about it. It must not block; nil is nobody.
	Published func(p *v1.Pod, s v1.PodStatus)
	Node      *render.Node
	// RuntimeName begins container ids ("containerd").
	RuntimeName string
	// Annotations are podctl's own for a pod's sandbox: its owner and its
	// manifest; nil for none.
	Annotations func(p *v1.Pod) (map[string]string, error)
	// Handler is the runtime handler for the pod; nil for the default one.
	Handler func(p *v1.Pod) string
	// Features tells what a runtime handler can do: nothing at all where the
	// runtime does not say, an error for one that it does not list. Nil stands
	// for nothing.
	Features func(ctx context.Context, handler string) (Features, error)
	// UserIDs gives a pod with hostUsers false its range of ids on the host:
	// the same one each time, until the pod's directory is removed.
	UserIDs func(uid types.UID) (first, length uint32, err error)
	// Resolver reads the node's resolv.conf, anew for each sync that needs it:
	// it changes under long-lived pods. Nil is Node.DNS.
	Resolver func() (render.DNS, error)
	// NetworkReady is nil while the node's network works, else says why not,
	// and ends with ctx; a nil function stands for always.
	NetworkReady func(ctx context.Context) error
	// Probes are asked for whenever the results of a pod's probes count, so that
	// none is overtaken by an older one; nil for none. It must not block.
	Probes func(uid types.UID) Probes
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
	return &Syncer{opt: opt, pods: map[types.UID]*memory{}}
}

// Result is what a sync or a termination found.
type Result struct {
	// Terminal: the pod has Succeeded or Failed, and is to be terminated.
	Terminal bool
	// Acted: something was changed in the runtime, so that a relist of this
	// pod is worth asking for.
	Acted bool
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
}

// TerminateInput is one termination.
type TerminateInput struct {
	Pod    *v1.Pod
	Status *pod.Status
	// Grace is the grace period in seconds, nil for the pod's own.
	Grace *int64
	// Override changes the status, to say why the pod is ended; may be nil.
	Override func(*v1.PodStatus)
	// Fresh reads the pod's status anew, after all was stopped: the proof that
	// nothing runs, and the exit codes. Nil without an error is a pod that the
	// runtime no longer holds.
	Fresh func(ctx context.Context) (*pod.Status, error)
}

// Status is the last status that was computed for the pod.
func (s *Syncer) Status(uid types.UID) (v1.PodStatus, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.pods[uid]
	if !ok || m.status == nil {
		return v1.PodStatus{}, false
	}
	return *m.status.DeepCopy(), true
}

// Forget drops what is remembered of the pod.
func (s *Syncer) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}
