package main

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// wait is what the PLEG waits for, in the runtime's terms.
type wait struct {
	// method is the CRI's, or the PLEG's own where none of the runtime's calls
	// is under way right now.
	method string
	// uid, namespace and name are the pod's, if it is about one.
	uid, namespace, name string
	// container is the container's name, id the container's or sandbox's.
	container, id string
	since         time.Time
}

// waitsFor explains a call of the PLEG. pods are those listed last.
func waitsFor(calls *cri.Calls, c pleg.Call, pods []*pod.Pod) wait {
	w := wait{method: c.Op, uid: string(c.PodUID), namespace: c.Namespace, name: c.Name, since: c.Since}
	if c.Op != "PodStatus" {
		list := calls.Oldest(func(in cri.CallInFlight) bool { return in.Method == "ListPodSandbox" || in.Method == "ListContainers" })
		if list != nil {
			w.method = list.Method
		}
		return w
	}
	names := map[string]string{}
	for _, p := range pods {
		if p.UID == c.PodUID {
			names = p.IDs()
		}
	}
	about := calls.Oldest(func(in cri.CallInFlight) bool { _, ours := names[in.ID]; return ours })
	if about != nil {
		w.method, w.id, w.container = about.Method, about.ID, names[about.ID]
	}
	return w
}

// sameAs tells whether two are one wait, looked at twice.
func (w wait) sameAs(o wait) bool { return w.uid == o.uid && w.since.Equal(o.since) }

// text is "PodSandboxStatus of default/db (sandbox 3f9c1b2a44d0e)". full shows
// ids in full.
func (w wait) text(full bool) string {
	text := w.method
	if w.uid == "" {
		return text
	}
	name := w.uid
	if w.name != "" {
		name = pod.DisplayName(w.namespace, w.name)
	}
	kind := "sandbox"
	if w.container != "" {
		name += "/" + w.container
		kind = "container"
	}
	text += " of " + name
	if w.id != "" {
		text += fmt.Sprintf(" (%s %s)", kind, idText(w.id, full))
	}
	return text
}

// idText is an id, cut as crictl cuts it unless it is to be shown in full.
func idText(id string, full bool) string {
	if full {
		return id
	}
	return pod.ShortID(id)
}
