package orphan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/view"
)

// FindLeaks completes a view by what sandboxes left that the runtime does not list. It blocks
// for some seconds if there is anything.
func (f *Finder) FindLeaks(ctx context.Context, v *View) error {
	if f.Leaks == nil {
		return nil
	}
	known := leak.Known{Pods: map[types.UID]pod.Identity{}}
	for _, p := range v.Pods {
		known.Pods[p.UID] = pod.Identity{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	}
	owned, err := v.Answers.OwnedPods()
	if err != nil {
		known.Unknown = err.Error()
	}
	for uid := range owned {
		if _, ok := known.Pods[uid]; !ok {
			known.Pods[uid] = pod.Identity{UID: uid}
		}
	}
	v.Leaks, err = f.Leaks.Find(ctx, &known)
	return err
}

// leaked is a leak as an orphan.
func leaked(l leak.Leak) Orphan {
	var parts []string
	for _, kind := range leak.Kinds() {
		switch things := l.Of(kind); len(things) {
		case 0:
		case 1:
			parts = append(parts, things[0].String())
		default:
			parts = append(parts, fmt.Sprintf("%d %s", len(things), kind.Plural()))
		}
	}
	of := "of " + pod.ShortID(l.ID) + ", which the runtime does not list"
	switch l.ID {
	case string(l.Pod.UID):
		of = "of a pod that nobody has"
	case l.Things[0].Path:
		of = "of no sandbox"
	}
	return Orphan{
		Pod:   &view.Pod{Metadata: view.Metadata{UID: cmp.Or(l.Pod.UID, types.UID(l.ID)), Namespace: l.Pod.Namespace, Name: l.Pod.Name}},
		Class: Leaked, Why: strings.Join(parts, ", ") + " " + of + "; " + l.Evidence, Leak: &l,
	}
}

// killLeak removes what has leaked and still is what it was when the leak was found.
func (k *Killer) killLeak(ctx context.Context, o Orphan, step StepFunc) (Result, string, error) {
	now, err := k.leakAgain(ctx, o)
	if err == nil && now != nil {
		k.removing.Lock()
		defer k.removing.Unlock()
		r := leak.Remover{Host: k.Finder.Leaks.Host, DryRun: k.DryRun, Step: step}
		err = r.Remove(ctx, *o.Leak, *now)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return Interrupted, "", nil
	case err != nil:
		return Failed, "", err
	case now == nil:
		return Gone, "", nil
	case k.DryRun:
		return DryRun, "", nil
	}
	return Removed, "", nil
}

// leakAgain returns a leak as it is now, nil if it is gone.
func (k *Killer) leakAgain(ctx context.Context, o Orphan) (*leak.Leak, error) {
	v, err := k.leaking.Ask(ctx, o, func(ctx context.Context, _ []Orphan) (*View, error) {
		looked, err := k.looking.Ask(ctx, o, func(ctx context.Context, _ []Orphan) (*View, error) { return k.Finder.Look(ctx) })
		if err != nil {
			return nil, err
		}
		v := *looked // it is shared with those who look for other orphans
		if err := v.Refusal(); err != nil {
			return nil, err
		}
		if err := k.Finder.FindLeaks(ctx, &v); err != nil {
			return nil, err
		}
		if !v.Leaks.Examined {
			return nil, fmt.Errorf("leaks cannot be looked for again: %s", strings.Join(v.Leaks.Unread, "; "))
		}
		return &v, nil
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.Leaks.Leaks, func(l leak.Leak) bool { return l.ID == o.Leak.ID })
	if i < 0 {
		return nil, nil
	}
	return &v.Leaks.Leaks[i], nil
}
