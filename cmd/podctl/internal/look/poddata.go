package look

import (
	"cmp"
	"time"

	"github.com/podctl/podctl/internal/inventory"
)

// PodData is one pod of `podctl pods -o json`.
type PodData struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels,omitempty"`
		CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"` // when it started
	} `json:"metadata"`
	Status     string   `json:"status"`            // as kubectl: Running, CrashLoopBackOff, Completed, Error, Init:1/2, Terminating …; Stopped, Rejected
	Phase      string   `json:"phase"`             // Pending, Running, Succeeded, Failed, Terminating, Rejected; Exited
	Worker     string   `json:"worker,omitempty"`  // syncing, terminating, terminated, finished; missing if no podctl process manages it
	Kind       string   `json:"kind"`              // podctl, kubelet, other
	Owner      string   `json:"owner,omitempty"`   // the podctl instance that manages it, else the one that created it
	Abandoned  bool     `json:"abandoned"`         // that instance has exited
	Ready      int      `json:"ready"`             // containers
	Containers int      `json:"containers"`        // all of the pod
	Restarts   int32    `json:"restarts"`          // of all containers
	IPs        []string `json:"ips,omitempty"`     // primary first
	Sandbox    string   `json:"sandbox,omitempty"` // id of the newest sandbox
	Reason     string   `json:"reason,omitempty"`  // why it was rejected, or the worker's last error
}

// NewPodData returns the data of a pod.
func NewPodData(p *inventory.Pod) PodData {
	display := p.Display()
	d := PodData{
		Phase: p.Phase(), Worker: p.Worker.Phase, Kind: string(p.Kind()), Owner: p.Creator, Abandoned: p.Abandoned(),
		Status: display.Status, Ready: display.Ready, Containers: display.Containers, Restarts: display.Restarts, IPs: p.IPs(), Reason: cmp.Or(p.Worker.Rejected, p.Worker.LastError.Text), Sandbox: p.Sandbox(),
	}
	if d.Worker == "unknown" {
		d.Worker = "" // no worker has it
	}
	if p.Managed() || p.Runtime == nil {
		d.Owner = p.Manager.Instance()
	}
	d.Metadata.Namespace, d.Metadata.Name, d.Metadata.UID = p.Namespace, p.Name, string(p.UID)
	d.Metadata.Labels, d.Metadata.CreationTimestamp = p.Labels(), p.Started()
	return d
}
