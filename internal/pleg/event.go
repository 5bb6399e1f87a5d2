package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// EventType is the kind of an Event (pkg/kubelet/pleg/pleg.go).
type EventType string

const (
	// ContainerStarted: a container or sandbox runs that did not before.
	ContainerStarted EventType = "ContainerStarted"
	// ContainerDied: a container or sandbox has exited, or vanished before it
	// was seen exited.
	ContainerDied EventType = "ContainerDied"
	// ContainerRemoved: a container or sandbox is gone from the runtime.
	ContainerRemoved EventType = "ContainerRemoved"
	// ContainerChanged: a container is created, or its state is unknown. Diff
	// yields it and it makes the status be read; it is not delivered.
	ContainerChanged EventType = "ContainerChanged"
	// PodSync: look at the pod again. Its status was reinspected with no
	// other event to tell of, or events were merged (see Event.Coalesced).
	PodSync EventType = "PodSync"
)

// Source tells what made the relist run that found a change.
type Source string

const (
	// FromRelist: the period, or the retry of what failed.
	FromRelist Source = "relist"
	// FromHint: an event of the runtime.
	FromHint Source = "hint"
	// FromRequest: GetNewerThan or RequestRelist.
	FromRequest Source = "request"
)

// Event is one transition of one container or sandbox, between two listings.
type Event struct {
	PodUID types.UID
	Type   EventType
	// ID is the container's or sandbox's id, "" for a PodSync.
	ID string
	// Namespace and Name are the pod's.
	Namespace, Name string
	// Container is the container's name, "" for a sandbox and for a PodSync.
	Container string
	// Source and At tell which relist found it: At is when its list call began.
	Source Source
	At     time.Time
	// Initial: it tells of what there was by the end of the first full relist,
	// and not of a change since.
	Initial bool
	// Pod is the listing that showed it; of a pod that is gone, the last one
	// that had it. It may be nil where that is not known any more.
	Pod *pod.Pod
	// Status is what was read because of it: nil if the pod is gone.
	Status *pod.Status
	// Coalesced is the number of events that this PodSync stands for besides
	// itself; 0 for every other event.
	Coalesced int
}
