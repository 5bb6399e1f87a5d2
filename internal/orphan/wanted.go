package orphan

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/pod"
)

// wantedPods index the pods that belong on this node, by all sources that answered.
type wantedPods struct {
	// byUID maps a pod to the source that desires it.
	byUID map[types.UID]string
	// byName maps a full name to the pods that are desired under it.
	byName map[string][]wantedPod
	// unknownUID maps a full name to a source that does not know the pod's UID.
	unknownUID map[string]string
	// madeUp is the same for pods whose UID podctl generated: only pods that
	// podctl created carry it.
	madeUp map[string]string
}

// wantedPod is a desired pod and its source.
type wantedPod struct {
	uid    types.UID
	source string
}

// wanted indexes the answers. A source that did not answer desires nothing here;
// View.Refusal decides whether that matters.
func wanted(answers []desired.Answer) wantedPods {
	w := wantedPods{byUID: map[types.UID]string{}, byName: map[string][]wantedPod{}, unknownUID: map[string]string{}, madeUp: map[string]string{}}
	for _, a := range answers {
		for _, p := range a.Pods {
			name := pod.FullNameOf(p)
			if a.ByName || p.UID == "" {
				w.unknownUID[name] = a.Source
				continue
			}
			w.byUID[p.UID] = a.Source
			w.byName[name] = append(w.byName[name], wantedPod{uid: p.UID, source: a.Source})
			if a.MadeUp[p.UID] {
				w.madeUp[name] = a.Source
			}
		}
	}
	return w
}

// by returns the source that desires the pod, "" if none does. A pod that podctl
// did not create is desired by its name alone where its UID cannot be known.
func (w wantedPods) by(uid types.UID, fullName string, podctls bool) string {
	who := cmp.Or(w.byUID[uid], w.unknownUID[fullName])
	if who == "" && !podctls {
		who = w.madeUp[fullName]
	}
	return who
}

// rival returns the pod of another UID that is desired under the full name.
func (w wantedPods) rival(uid types.UID, fullName string) (wantedPod, bool) {
	i := slices.IndexFunc(w.byName[fullName], func(p wantedPod) bool { return p.uid != uid })
	if i < 0 || strings.HasPrefix(fullName, "_") {
		return wantedPod{}, false
	}
	return w.byName[fullName][i], true
}
