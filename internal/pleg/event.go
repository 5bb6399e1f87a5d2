package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// EventType is the kind of an Event (pkg/kubelet/pleg/pleg.go).
type EventType string

const (
	// ContainerStarted: a container or sandbox has started.
	ContainerStarted EventType = "ContainerStarted"
	// ContainerDied: a container or sandbox has exited, or vanished before it
	// was seen exited.
	ContainerDied EventType = "ContainerDied"
	// ContainerRemoved: a container or sandbox is gone from the runtime.
	ContainerRemoved EventType = "ContainerRemoved"
	// ContainerChanged: a container is created, or its state is unknown. Diff
	// returns it and the status is read; it is not delivered.
	ContainerChanged EventType = "ContainerChanged"
	// PodSync: sync the pod. Its status was reinspected without another event, or does not
	// arrive, or events were merged (see Event.Coalesced).
	PodSync EventType = "PodSync"
)

// Source is what triggered the relist that found a change.
type Source string

const (
	// FromRelist: the period, or the retry of what failed.
	FromRelist Source = "relist"
	// FromHint: an event of the runtime.
	FromHint Source = "hint"
	// FromRequest: GetNewerThan.
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
	// Source and At describe the relist that found it: At is when its list call
	// began.
	Source Source
	At     time.Time
	// Initial: the event describes what existed at the end of the first full
	// relist, not a change since.
	Initial bool
	// Pod is the listing that showed the change, or the last listing of a pod
	// that is gone. It is nil if that is no longer known.
	Pod *pod.Pod
	// Status is what was read because of it: nil if the pod is gone, or its status does not arrive.
	Status *pod.Status
	// Coalesced is the number of events that this PodSync stands for besides
	// itself; 0 for every other event.
	Coalesced int
}
