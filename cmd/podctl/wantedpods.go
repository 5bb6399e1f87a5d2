package main

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/pod"
)

// wantedPods are the pods that belong on this node, by all who could be asked.
type wantedPods struct {
	// byUID says who wants a pod.
	byUID map[types.UID]string
	// byName are the pods that are wanted under a full name, with their UIDs.
	byName map[string][]wantedPod
	// unknownUID says who wants a full name and does not know the pod's UID.
	unknownUID map[string]string
	// madeUp says the same of those whose UID podctl made up: no other than
	// podctl's pods carry it.
	madeUp map[string]string
}

// wantedPod is a pod that is wanted under some name, and by whom.
type wantedPod struct {
	uid types.UID
	who string
}

// wanted puts the answers together. Who could not be read wants nothing here;
// whether that matters is for others to say.
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
			w.byName[name] = append(w.byName[name], wantedPod{uid: p.UID, who: a.Source})
			if a.MadeUp[p.UID] {
				w.madeUp[name] = a.Source
			}
		}
	}
	return w
}

// by says who wants the pod, "" if nobody does. A pod that podctl did not
// create is wanted by its name alone where nobody can know its UID.
func (w wantedPods) by(uid types.UID, fullName string, podctls bool) string {
	who := cmp.Or(w.byUID[uid], w.unknownUID[fullName])
	if who == "" && !podctls {
		who = w.madeUp[fullName]
	}
	return who
}

// rival is who wants the full name for another pod, if anybody does.
func (w wantedPods) rival(uid types.UID, fullName string) (wantedPod, bool) {
	i := slices.IndexFunc(w.byName[fullName], func(p wantedPod) bool { return p.uid != uid })
	if i < 0 || strings.HasPrefix(fullName, "_") {
		return wantedPod{}, false
	}
	return w.byName[fullName][i], true
}
