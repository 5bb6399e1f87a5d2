package look

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

// PodMetadata is the identity of a pod.
type PodMetadata struct {
	Namespace         string            `json:"namespace"`                  // of the pod; empty if only its volumes name it
	Name              string            `json:"name"`                       // of the pod; its UID if only its volumes name it
	UID               string            `json:"uid"`                        // of the pod
	Labels            map[string]string `json:"labels,omitempty"`           // of its sandbox; podctl pods and ps have them
	CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"` // when it started; podctl pods has it
}

// MetadataOf returns the identity of a pod, without labels and time.
func MetadataOf(p *view.Pod) PodMetadata {
	return PodMetadata{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

// PodData is one pod of `podctl pods -o json`.
type PodData struct {
	Metadata   PodMetadata `json:"metadata"`          // of the pod
	Status     string      `json:"status"`            // as kubectl: Running, CrashLoopBackOff, Completed, Error, Init:1/2, Terminating …; Stopped, Rejected
	Phase      string      `json:"phase"`             // Pending, Running, Succeeded, Failed, Terminating, Rejected; Exited
	Worker     string      `json:"worker,omitempty"`  // syncing, terminating, terminated, finished; missing if no podctl process manages it
	Kind       string      `json:"kind"`              // podctl, kubelet, other
	Owner      string      `json:"owner,omitempty"`   // the podctl instance that manages it, else the one that created it
	Abandoned  bool        `json:"abandoned"`         // that instance has exited
	Ready      int         `json:"ready"`             // containers
	Containers int         `json:"containers"`        // all of the pod
	Restarts   int32       `json:"restarts"`          // of all containers
	IPs        []string    `json:"ips,omitempty"`     // primary first
	Sandbox    string      `json:"sandbox,omitempty"` // id of the newest sandbox
	Reason     string      `json:"reason,omitempty"`  // why it was rejected, or the worker's last error
	Unread     string      `json:"unread,omitempty"`  // what the runtime did not tell, and why: what depends on it is unknown

	Unready  []event.Unready   `json:"unready,omitempty"`  // containers whose probes failed when they were last asked
	Waiting  []control.Waiting `json:"waiting,omitempty"`  // containers that could not start, and why
	HostPort *event.HostPort   `json:"hostPort,omitempty"` // for which it was rejected or waits: the host port, and the pod that has it
	Message  string            `json:"message,omitempty"`  // why it is not ready: its readiness gates, or the kubelet's message about a pod of its own

	Broken []string `json:"broken,omitempty"` // containers that the runtime reports as running, and whose processes have ended or are frozen; status is ProcessGone or Frozen then

	Superseded []supersededData `json:"superseded,omitempty"` // older sandboxes that are ready, and older attempts of containers that run or may run, too
}

// supersededData is a sandbox or attempt of a container that pod.Pod.Superseded returned.
type supersededData struct {
	Container string `json:"container,omitempty"` // its name; missing of a sandbox
	ID        string `json:"id"`                  // of the sandbox or container
	Attempt   uint32 `json:"attempt"`             // counted from 0
	State     string `json:"state"`               // ready, of a sandbox; running, unknown
}

func supersededOf(p *pod.Pod) []supersededData {
	if p == nil {
		return nil
	}
	var all []supersededData
	sandboxes, containers := p.Superseded()
	for _, s := range sandboxes {
		all = append(all, supersededData{"", s.ID, s.Attempt, "ready"})
	}
	for _, c := range containers {
		all = append(all, supersededData{c.Name, c.ID, c.Attempt, c.State.String()})
	}
	return all
}

// AlsoRunning describes the superseded sandboxes and attempts, "" if there are none.
func (d *PodData) AlsoRunning() string {
	var texts []string
	for _, s := range d.Superseded {
		texts = append(texts, fmt.Sprintf("%s attempt %d %s (%s)", cmp.Or(s.Container, "sandbox"), s.Attempt, s.State, pod.ShortID(s.ID)))
	}
	return strings.Join(texts, ", ")
}

// NotReady says why the pod is not ready, "" if that is not known, or it is: the
// probes that failed, with what they said, and why containers wait, else what its condition
// Ready says.
func (d *PodData) NotReady() string {
	var texts []string
	for _, w := range d.Waiting {
		texts = append(texts, strings.TrimSuffix(w.Container+": "+w.Reason+": "+w.Message, ": "))
	}
	for _, u := range d.Unready {
		texts = append(texts, u.Container+": "+u.Probe.Text())
	}
	return cmp.Or(strings.Join(texts, " · "), d.Reason, d.Message)
}

// NewPodData returns the data of a pod.
func NewPodData(p *view.Pod) PodData {
	display := p.Display()
	d := PodData{
		Phase: p.ListedPhase(), Worker: p.Worker.Phase, Kind: string(p.Kind()), Owner: p.Instance(), Abandoned: p.Abandoned(), Metadata: MetadataOf(p),
		Status: display.Status, Ready: display.Ready, Containers: display.Containers, Restarts: display.Restarts, IPs: p.IPs(), Reason: cmp.Or(p.Worker.Rejected, p.Worker.LastError.Text), Sandbox: p.SandboxID(),
	}
	if p.ReadError() != nil {
		d.Unread = p.ReadError().Error()
	}
	d.Superseded = supersededOf(p.Runtime)
	d.Unready, d.Waiting, d.HostPort, d.Message = p.Worker.Unready, p.Worker.Waiting, p.Worker.HostPort, p.Worker.NotReady
	if p.Object != nil && p.Manager == nil {
		d.readObject(&p.Object.Status)
	}
	if d.Worker == "unknown" {
		d.Worker = "" // no worker has it
	}
	d.Metadata.Labels, d.Metadata.CreationTimestamp = p.SandboxLabels(), p.Began()
	return d
}

// readObject reads why a kubelet's pod is not ready.
func (d *PodData) readObject(s *v1.PodStatus) {
	d.Waiting = control.WaitingOf(s)
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady && c.Status != v1.ConditionTrue && c.Reason != "PodCompleted" {
			d.Message = c.Message
		}
	}
}
