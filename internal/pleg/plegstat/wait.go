package plegstat

import (
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// CheckWait is a call that has not been answered.
type CheckWait struct {
	// CRI method, or the PLEG's operation while none of its CRI calls is in flight
	Call      string    `json:"call"`
	Namespace string    `json:"namespace,omitempty"` // of the pod, if the call is about one
	Name      string    `json:"name,omitempty"`      // of the pod
	UID       string    `json:"uid,omitempty"`       // of the pod
	Container string    `json:"container,omitempty"` // container name, if the call is about one
	ID        string    `json:"id,omitempty"`        // of the container or sandbox
	Since     time.Time `json:"since"`               // when the call began
	Seconds   float64   `json:"seconds"`             // time in flight
}

// SameAs reports whether two values are the same wait observed twice.
func (w CheckWait) SameAs(o CheckWait) bool { return w.UID == o.UID && w.Since.Equal(o.Since) }

// Explain returns what a call of the PLEG waits for, in terms of the CRI calls in
// flight. pods are those listed last.
func Explain(calls *cri.Calls, c pleg.Call, pods []*pod.Pod, now time.Time) CheckWait {
	w := CheckWait{
		Call: c.Op, UID: string(c.PodUID), Namespace: c.Namespace, Name: c.Name,
		Since: c.Since, Seconds: now.Sub(c.Since).Seconds(),
	}
	if c.Op != "PodStatus" {
		list := calls.Oldest(func(in cri.CallInFlight) bool { return in.Method == "ListPodSandbox" || in.Method == "ListContainers" })
		if list != nil {
			w.Call = list.Method
		}
		return w
	}
	names := map[string]string{}
	for _, p := range pods {
		if p.UID == c.PodUID {
			names = p.IDs()
		}
	}
	about := calls.Oldest(func(in cri.CallInFlight) bool { _, found := names[in.ID]; return found })
	if about != nil {
		w.Call, w.ID, w.Container = about.Method, about.ID, names[about.ID]
	}
	return w
}
