package pods

import (
	"time"
)

// containerData is one container of `podctl ps -o json`.
type containerData struct {
	Metadata  containerMetadata `json:"metadata"`           // of the pod
	Name      string            `json:"name"`               // of the container
	ID        string            `json:"id"`                 // of the container
	Attempt   uint32            `json:"attempt"`            // counted from 0
	State     string            `json:"state"`              // created, running, exited, unknown
	CreatedAt time.Time         `json:"createdAt,omitzero"` // when it was created
	Image     string            `json:"image,omitempty"`    // as it was asked for; else a name of it, or its id
	ImageID   string            `json:"imageID,omitempty"`  // the runtime's
	Sandbox   string            `json:"sandbox"`            // id of its sandbox
	Kind      string            `json:"kind"`               // of the pod's owner: podctl, kubelet, other
	Owner     string            `json:"owner,omitempty"`    // the podctl instance that manages the pod, else the one that created it
	Abandoned bool              `json:"abandoned"`          // that instance has exited
}

// containerMetadata is the identity of the container's pod.
type containerMetadata struct {
	Namespace string            `json:"namespace"`        // of the pod
	Name      string            `json:"name"`             // of the pod
	UID       string            `json:"uid"`              // of the pod
	Labels    map[string]string `json:"labels,omitempty"` // of the pod's sandbox
}

func newContainerData(c *listedContainer) containerData {
	p := c.pod
	d := containerData{
		Metadata: containerMetadata{p.Namespace, p.Name, string(p.UID), p.SandboxLabels()},
		Name:     c.Name, ID: c.ID, Attempt: c.Attempt, State: c.State.String(), CreatedAt: c.CreatedAt,
		Image: c.imageName(), ImageID: c.ImageID, Sandbox: c.SandboxID, Kind: string(p.Kind()), Owner: p.Creator, Abandoned: !p.Managed() && p.Abandoned(),
	}
	if p.Managed() {
		d.Owner = p.Manager.Name
	}
	return d
}
