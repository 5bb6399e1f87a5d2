package main

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

// orphanData is one orphan of `podctl orphans -o json`.
type orphanData struct {
	Metadata   orphanMetadata `json:"metadata"`            // the pod's
	Class      string         `json:"class"`               // name-reserved, no-sandbox, not-ready, abandoned, runtime-only, directory
	Owner      string         `json:"owner,omitempty"`     // the podctl that made it; missing if none did, or it is not known
	OwnerEnded time.Time      `json:"ownerEnded,omitzero"` // about when that was killed, if it was and left a trace
	Containers int            `json:"containers"`          // that the runtime holds of it
	Running    int            `json:"running"`             // of those
	Sandbox    string         `json:"sandbox,omitempty"`   // the newest one's id
	Directory  string         `json:"directory,omitempty"` // of the class directory
	Mounts     []string       `json:"mounts,omitempty"`    // in that directory
	Why        string         `json:"why"`                 // it is an orphan
	Result     string         `json:"result,omitempty"`    // of --kill: ended, removed, spared, gone, kept, failed, dry-run
	Reason     string         `json:"reason,omitempty"`    // why it was spared, or kept, or failed
	Steps      []string       `json:"steps,omitempty"`     // the calls that --kill made, in their order
}

// orphanMetadata is the metadata of an orphan in JSON.
type orphanMetadata struct {
	Namespace         string    `json:"namespace,omitempty"`        // missing of a directory of which nobody knows the pod
	Name              string    `json:"name,omitempty"`             // the same
	UID               string    `json:"uid"`                        // the pod's
	CreationTimestamp time.Time `json:"creationTimestamp,omitzero"` // of its first sandbox or container; of a directory when it was changed
}

func (o orphan) data() orphanData {
	d := orphanData{
		Class: string(o.class), Owner: o.creator, OwnerEnded: o.ended, Why: o.why,
		Metadata: orphanMetadata{Namespace: o.namespace, Name: o.name, UID: string(o.uid), CreationTimestamp: o.began()},
	}
	if o.dir != nil {
		d.Directory, d.Mounts = o.dir.path, o.dir.mounts
	}
	if o.pod != nil {
		d.Containers, d.Running = len(o.pod.Containers), o.runningContainers()
		if len(o.pod.Sandboxes) > 0 {
			d.Sandbox = o.pod.Sandboxes[0].ID
		}
	}
	return d
}

// began is when the orphan came to be, zero if that is not known.
func (o orphan) began() time.Time {
	if o.dir != nil {
		return o.dir.changed
	}
	began := o.heldPod.began()
	if began.IsZero() {
		for _, c := range o.pod.Containers {
			if began.IsZero() || c.CreatedAt.Before(began) {
				began = c.CreatedAt
			}
		}
	}
	return began
}

// containersText is "2 running", "1 of 2 running".
func (d orphanData) containersText() string {
	switch {
	case d.Containers == 0:
		return "-"
	case d.Running == d.Containers:
		return fmt.Sprintf("%d running", d.Running)
	case d.Running == 0:
		return fmt.Sprintf("%d ended", d.Containers)
	}
	return fmt.Sprintf("%d of %d running", d.Running, d.Containers)
}

func orphanListing(found []orphan, now time.Time) output.List {
	l := output.List{
		Header: []string{"POD", "CLASS", "AGE", "CONTAINERS", "OWNER", "WHY"},
		Wide:   []string{"UID", "WHERE"},
	}
	for _, o := range found {
		d := o.data()
		age, where := "-", "-"
		if began := o.began(); !began.IsZero() {
			age = output.Age(now.Sub(began))
		}
		switch {
		case d.Sandbox != "":
			where = d.Sandbox
		case d.Directory != "":
			where = d.Directory
		}
		l.Items = append(l.Items, output.Item{
			Name: o.displayName(), Data: d,
			Cells: []string{o.displayName(), d.Class, age, d.containersText(), o.ownerText(now), d.Why},
			Wide:  []string{d.Metadata.UID, where},
		})
	}
	return l
}
