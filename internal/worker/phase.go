package worker

import "fmt"

// Phase is where a pod stands on its only way: down this list, never back.
// The kubelet derives it from timestamps (podSyncStatus.WorkType in
// pkg/kubelet/pod_workers.go); here it is stored. The zero value is Unknown.
type Phase uint8

const (
	// Unknown: the worker holds nothing about this UID. A pod that was
	// forgotten is Unknown again, and the same UID may start afresh.
	Unknown Phase = iota
	// Syncing: the pod shall run. Containers may be started; before Started is
	// set, the pod still waits for its name and nothing was done for it.
	Syncing
	// Terminating: the pod shall stop. A Sync may still be ending, no other
	// one begins; containers may still run.
	Terminating
	// Terminated: nothing of the pod runs any more or will; what it leaves
	// behind (volumes, cgroup, status) is being cleaned up.
	Terminated
	// Finished: cleaned up too, or stopped before anything was begun. Only
	// kept so that the UID does not start again while it is still desired.
	Finished
)

var phaseNames = [...]string{Unknown: "unknown", Syncing: "syncing", Terminating: "terminating", Terminated: "terminated", Finished: "finished"}

func (p Phase) String() string { return name("Phase", phaseNames[:], uint8(p)) }

// Lifecycle is the kubelet's word for the phase, as in its metric
// working_pods: sync, terminating or terminated, which is also what it says
// of a finished pod. "" for Unknown.
func (p Phase) Lifecycle() string {
	switch p {
	case Unknown:
		return ""
	case Syncing:
		return "sync"
	case Terminating:
		return "terminating"
	default:
		return "terminated"
	}
}

// Op is an operation that the shell carries out for a pod through Ops. The
// zero value is OpNone: the pod is idle.
type Op uint8

const (
	// OpNone: no operation.
	OpNone Op = iota
	// OpSync brings the pod nearer to its spec.
	OpSync
	// OpTerminate stops every container of a pod with a known spec.
	OpTerminate
	// OpTerminateRuntime stops a pod that only the runtime knows.
	OpTerminateRuntime
	// OpCleanup releases what a stopped pod still holds.
	OpCleanup
)

var opNames = [...]string{OpNone: "none", OpSync: "sync", OpTerminate: "terminate", OpTerminateRuntime: "terminate-runtime", OpCleanup: "cleanup"}

func (o Op) String() string { return name("Op", opNames[:], uint8(o)) }

// UpdateType says why an update comes, and is handed to Ops.Sync
// (kubetypes.SyncPodType). The zero value is TypeSync.
type UpdateType uint8

const (
	// TypeSync: nothing changed, look again.
	TypeSync UpdateType = iota
	// TypeUpdate: the spec changed.
	TypeUpdate
	// TypeCreate: a source names the pod for the first time. For a UID that is
	// already being stopped this asks for the pod to be started again later.
	TypeCreate
)

var updateTypeNames = [...]string{TypeSync: "sync", TypeUpdate: "update", TypeCreate: "create"}

func (t UpdateType) String() string { return name("UpdateType", updateTypeNames[:], uint8(t)) }

// Cause is what made a pod leave Syncing; the first stop request decides. The
// zero value means that there was none.
type Cause uint8

const (
	// CauseNone: no stop request so far.
	CauseNone Cause = iota
	// CauseCompleted: Sync found that the pod has ended by itself.
	CauseCompleted
	// CauseKilled: a kill that is no eviction.
	CauseKilled
	// CauseEvicted: a kill that is an eviction.
	CauseEvicted
	// CauseDeleted: an update carried a deletion timestamp.
	CauseDeleted
	// CausePhase: an update carried the phase Succeeded or Failed.
	CausePhase
	// CauseRuntimeOnly: a kill of a pod that was found in the runtime.
	CauseRuntimeOnly
	// CauseOrphaned: SyncKnownPods did not find it among the desired pods.
	CauseOrphaned
)

var causeNames = [...]string{
	CauseNone: "none", CauseCompleted: "completed", CauseKilled: "killed", CauseEvicted: "evicted",
	CauseDeleted: "deleted", CausePhase: "phase", CauseRuntimeOnly: "runtime-only", CauseOrphaned: "orphaned",
}

func (c Cause) String() string { return name("Cause", causeNames[:], uint8(c)) }

// name looks a constant up in the names of its type.
func name(kind string, names []string, value uint8) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, value)
}
