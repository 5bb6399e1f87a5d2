package node

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/startgate"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// housekeepingPeriod is how often desired pods, workers and the runtime are
// compared (pkg/kubelet/kubelet.go).
const housekeepingPeriod = 2 * time.Second

// Options of a Node. All but KeepLogs, Events, Log and the PLEG's period are
// required.
type Options struct {
	// Instance is the name under which this podctl owns pods.
	Instance string
	// Sources are the names of the sources; nothing starts before each of
	// them has called Set.
	Sources []string
	// Runtime is the runtime to drive.
	Runtime Runtime
	// Locks hold the instance's lock; the node claims and releases names. It
	// does not close them.
	Locks *owner.Locks
	// Facts are the machine's.
	Facts *render.Node
	// Host is the machine as it changes; nil is a machine that is as Facts say.
	Host Host
	// Admission decides which pods are admitted.
	Admission admission.Policy
	// Allocatable is what all pods together may request (see Allocatable); nil
	// does not bound them.
	Allocatable v1.ResourceList
	// Dirs names the pods' directories, to Facts and Volumes, too.
	Dirs *poddir.Dirs
	// Cgroups makes pod cgroups, Volumes what is in pod directories.
	Cgroups Cgroups
	Volumes Volumes
	// RuntimeClasses maps names of runtime classes to handlers of the runtime;
	// the handler of any other is its name.
	RuntimeClasses map[string]string
	// Credentials returns what an image is pulled with beside the pod's own secrets;
	// nil is nothing: see podsync.Options.
	Credentials credential.Lookup
	// KeepLogs leaves the log files of removed pods where they are.
	KeepLogs bool
	// PLEG configures relisting.
	PLEG pleg.Options
	// Probes is told of every answer to a probe; nil is none.
	Probes probe.Observer
	// KillUnknown: unknown running pods of the runtime are stopped, as a kubelet
	// stops them.
	KillUnknown bool
	// Events is called for each event, in order, and must not block.
	Events func(event.Event)
	// Observer is told what the node does, for metrics; nil is none.
	Observer Observer
	// HostPorts returns why a pod that is about to start may not have its host ports:
	// another podctl of this host has a pod with one of them. No other podctl starts
	// such a pod before release is called. Nil looks at this node's pods only.
	HostPorts func(ctx context.Context, p *v1.Pod) (release func(), err error)
	// PortListeners returns the processes of the host that listen on a port of the host, as text;
	// nil knows none.
	PortListeners func(protocol v1.Protocol, port int32) []string
	// OwnersElsewhere asks the podctl processes that use other endpoints, or have other run
	// directories, which pods they own; nil knows none.
	OwnersElsewhere func(ctx context.Context, pods []*pod.Pod) (Owners, error)
	// OtherPods returns the pods of all other podctl processes of the host and their
	// instances, or an error if that is not known; nil knows none.
	OtherPods func(ctx context.Context) (map[types.UID]string, error)
	// KeepLeftoverCgroups: their root may have pods of others.
	KeepLeftoverCgroups bool
	// Log receives what is not an event; nil discards it.
	Log *slog.Logger
}

// Host is what the node needs of the machine beside its Facts.
type Host interface {
	// Resolver reads the machine's resolv.conf, whenever a pod needs it.
	Resolver() (render.DNS, error)
	// UserIDs returns the ids of a pod with a user namespace: see podsync.Options.
	UserIDs(ctx context.Context, uid types.UID) (first, length uint32, err error)
	// FreeLogSpace returns how many bytes are free for container logs. The error is
	// errors.ErrUnsupported if that is never known.
	FreeLogSpace() (uint64, error)
	// HasDedicatedImageFs reports whether images and writable layers are on another file system
	// than the directories of pods (pkg/kubelet/stats/provider.go).
	HasDedicatedImageFs(ctx context.Context) (bool, error)
	// RunDirRestored is called by the loop after deleted locks were taken again: what
	// else was in the run directory is gone.
	RunDirRestored()
}

// StaticHost is a Host that is as its Facts say.
type StaticHost struct{ Facts *render.Node }

var _ Host = StaticHost{}

// Resolver implements Host.
func (h StaticHost) Resolver() (render.DNS, error) { return h.Facts.DNS, nil }

// UserIDs implements Host: there are none.
func (StaticHost) UserIDs(context.Context, types.UID) (first, length uint32, err error) {
	return 0, 0, errors.New("there are no user ids for pods")
}

// FreeLogSpace implements Host: it is not known.
func (StaticHost) FreeLogSpace() (uint64, error) { return 0, errors.ErrUnsupported }

// HasDedicatedImageFs implements Host: they are not.
func (StaticHost) HasDedicatedImageFs(context.Context) (bool, error) { return false, nil }

// RunDirRestored implements Host.
func (StaticHost) RunDirRestored() {}

// Cgroups is what the node needs of the pod cgroups.
type Cgroups interface {
	podsync.Cgroups
	// RemoveEmptyParents removes the cgroups above the pods' that are empty.
	RemoveEmptyParents() error
	// List returns every pod that has a cgroup, whichever program created it.
	List() ([]types.UID, error)
	// Leftover returns the pod's cgroup if podctl made it and it has no process.
	Leftover(uid types.UID) (l cgroup.Leftover, ok bool, err error)
	// RemoveLeftover removes it if it is still the same and has no process.
	RemoveLeftover(ctx context.Context, l cgroup.Leftover) error
}

// Volumes is what the node needs of the pods' directories.
type Volumes interface {
	podsync.Volumes
	// OverLimit looks for an emptyDir that holds more than its sizeLimit.
	OverLimit(ctx context.Context, p *v1.Pod) (volume string, limit resource.Quantity, over bool)
	// EphemeralUsage returns how many bytes of the node's disk the pod's volumes and its
	// /etc/hosts take, and FilesUsage those of the files in a directory; no more than the
	// limit is counted.
	EphemeralUsage(ctx context.Context, p *v1.Pod, limit int64) int64
	FilesUsage(ctx context.Context, dir string, limit int64) int64
	// PodDirs lists the names of the directories of pods, of any runtime.
	PodDirs() ([]string, error)
	// RemovePod removes the directory of a pod whose volumes are unmounted.
	RemovePod(ctx context.Context, uid types.UID) error
}

// Node runs the pods that its sources desire on one runtime. Make one with
// New; nothing happens until Run.
type Node struct {
	opts    Options
	log     *slog.Logger
	rt      Runtime
	locks   *owner.Locks
	desired *desired
	workers *worker.Workers
	pleg    *pleg.PLEG
	sync    *podsync.Syncer
	probes  *probe.Manager
	starts  *startgate.Gate
	// wake makes the loop reconcile soon.
	wake wakeup
	// network caches whether the runtime's network is ready.
	network  network
	features *runtimeFeatures
	// background are the goroutines that evict pods for others and remove leftovers.
	background sync.WaitGroup

	// pods are all pods of the node, watchers are notified when what Pods shows of them
	// changes.
	pods     *podTable
	watchers *watchers
	events   *eventSender
	records  *records
	statuses *statuses

	evictor    *evictor
	preemption *preemption

	names       *nameLocks
	ports       *hostPorts
	devices     *devices
	allocations *allocations
	remover     *remover
	leftovers   *leftoverFinder
	sweep       *cgroupSweep

	// settled: see Settled.
	settled  atomic.Bool
	progress progress
}

// New puts a node together. It makes no call.
func New(o Options) *Node {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	if o.Host == nil {
		o.Host = StaticHost{o.Facts}
	}
	if o.OtherPods == nil {
		o.OtherPods = func(context.Context) (map[types.UID]string, error) { return nil, nil }
	}
	o.Runtime = o.Runtime.ForNode()
	version := o.Runtime.Connected()
	n := &Node{
		opts: o, log: o.Log, rt: o.Runtime, locks: o.Locks,
		desired: newDesired(o.Sources),
		starts:  startgate.New(startgate.Options{}),
		wake:    make(wakeup, 1),
		network: network{rt: o.Runtime, asking: make(chan struct{}, 1)},
	}
	n.features = &runtimeFeatures{
		rt: o.Runtime, version: version, classes: o.RuntimeClasses, declared: n.desired.allObjects, stopSignals: o.Facts.StopSignals,
	}
	n.pods = newPodTable(containerReader{n})
	n.watchers = n.pods.watchers
	n.events = &eventSender{pods: n.pods, sink: o.Events}
	o.PLEG.Log = o.Log
	o.PLEG.Broadcasts = func(context.Context) bool { return version.BroadcastsEvents() }
	o.PLEG.Observer = &runtimeWatch{n: n, next: o.PLEG.Observer}
	n.pleg = pleg.New(o.Runtime, o.PLEG)
	n.records = &records{pods: n.pods, facts: o.Facts, dirs: o.Dirs, locks: o.Locks, instance: o.Instance, log: o.Log}
	n.statuses = &statuses{pods: n.pods, pleg: n.pleg, events: n.events, observer: o.Observer}
	n.probes = probe.New(probe.Options{
		Exec: SyncRuntime{o.Runtime}, Status: n.pods.status, Changed: n.probeChanged, Events: n.probeEvent, Brief: n.briefText,
		Observer: o.Probes, Jitter: rand.Float64,
	})
	n.sync = podsync.New(podsync.Options{
		Runtime: SyncRuntime{o.Runtime}, Cgroups: o.Cgroups, Volumes: o.Volumes, Host: syncHost{n},
		Node: o.Facts, RuntimeName: version.Name, NodeCredentials: o.Credentials, Starts: n.starts, Log: o.Log,
	})
	n.workers = worker.New(worker.Options{Ops: ops{n}, Log: o.Log, Observer: workerWatch{n}, WakeOnRelease: true})
	n.pods.workers = n.workers
	n.connect()
	return n
}

// connect makes the parts of a node that use its workers.
func (n *Node) connect() {
	o := n.opts
	n.evictor = &evictor{pods: n.pods, workers: n.workers, records: n.records, statuses: n.statuses, events: n.events}
	n.preemption = &preemption{
		pods: n.pods, evictor: n.evictor, events: n.events, observer: o.Observer, allocatable: o.Allocatable,
		background: &n.background, wake: n.wake,
	}
	n.names = &nameLocks{pods: n.pods, locks: o.Locks, events: n.events, host: o.Host, log: o.Log}
	n.ports = &hostPorts{pods: n.pods, rt: o.Runtime, elsewhere: o.HostPorts, listeners: o.PortListeners, log: o.Log}
	n.devices = &devices{pods: n.pods, rt: o.Runtime, log: o.Log}
	n.allocations = &allocations{pods: n.pods, workers: n.workers, sync: n.sync, allocatable: o.Allocatable, observer: o.Observer}
	n.remover = &remover{
		pods: n.pods, rt: o.Runtime, statuses: n.statuses, pleg: n.pleg, sync: n.sync, volumes: o.Volumes, cgroups: o.Cgroups,
		facts: o.Facts, dirs: o.Dirs, keepLogs: o.KeepLogs, background: &n.background, wake: n.wake, log: o.Log,
		ended: map[types.UID]error{},
	}
	n.leftovers = &leftoverFinder{
		pods: n.pods, facts: o.Facts, dirs: o.Dirs, volumes: o.Volumes, locks: o.Locks, records: n.records, others: o.OtherPods, log: o.Log,
	}
	n.sweep = &cgroupSweep{
		pods: n.pods, cgroups: o.Cgroups, volumes: o.Volumes, dirs: o.Dirs, others: o.OtherPods, background: &n.background, log: o.Log,
	}
}

// Set sets the pods that a source desires, all of them, and the objects beside
// them. It may be called at any time.
func (n *Node) Set(source string, pods []Desired, objects *pod.Objects) {
	n.set(source, pods, objects, false)
}

func (n *Node) set(source string, pods []Desired, objects *pod.Objects, partial bool) {
	changed := n.desired.set(source, pods, objects, partial)
	n.wake.signal()
	n.syncUsersOf(changed)
}

// Settled reports whether all pods that the node owns are among its Pods: its sources
// were read, and what the runtime held is adopted, stopped, or left to its owners.
func (n *Node) Settled() bool { return n.settled.Load() }
