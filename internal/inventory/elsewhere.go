package inventory

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/owner"
)

// Elsewhere is what the live podctl processes of this host own that use a runtime
// by another endpoint: it may lead to the same runtime, by a proxy for instance.
type Elsewhere struct {
	// Owners maps their pods to their instances.
	Owners map[types.UID]string
	// Silent are the instances that did not answer: they may own any pod that they
	// created, or whose name they hold.
	Silent []string
	// silentIn are the same instances by their directory.
	silentIn map[string][]string
}

// AskAll asks the live podctl processes of all directories below the run
// directory.
func AskAll(ctx context.Context, run string, dial control.Dialer) (Elsewhere, error) {
	return askBelow(ctx, run, "", dial)
}

// AskElsewhere asks the live podctl processes of all directories beside one.
func AskElsewhere(ctx context.Context, dir string, dial control.Dialer) (Elsewhere, error) {
	return askBelow(ctx, filepath.Dir(dir), filepath.Clean(dir), dial)
}

func askBelow(ctx context.Context, run, except string, dial control.Dialer) (Elsewhere, error) {
	found := Elsewhere{Owners: map[types.UID]string{}, silentIn: map[string][]string{}}
	dirs, err := filepath.Glob(filepath.Join(run, "*"))
	if err != nil {
		return found, err
	}
	for _, dir := range dirs {
		if dir == except {
			continue
		}
		if err := found.ask(ctx, dir, dial); err != nil {
			return found, err
		}
	}
	return found, nil
}

// ask adds what the processes of one directory own.
func (e *Elsewhere) ask(ctx context.Context, dir string, dial control.Dialer) error {
	living, err := owner.Living(dir)
	if err != nil {
		return err
	}
	clients, err := control.Find(dir, dial)
	if err != nil {
		return err
	}
	for _, l := range Ask(ctx, clients) {
		if l.Err != nil {
			continue
		}
		living = slices.DeleteFunc(living, func(name string) bool { return name == l.Client.Instance() })
		for _, w := range l.Workers {
			e.Owners[w.UID] = l.Client.Instance()
		}
	}
	for _, name := range living {
		// stop and orphans own no pods.
		if !strings.HasPrefix(name, "stop-") && !strings.HasPrefix(name, "orphans-") {
			e.Silent = append(e.Silent, name)
			e.silentIn[dir] = append(e.silentIn[dir], name)
		}
	}
	return nil
}

// owner is the instance that owns the pod, or may own it, "" if none does.
func (e Elsewhere) owner(p *Pod) string {
	if instance := e.Owners[p.UID]; instance != "" {
		return instance
	}
	if p.Creator != "" && slices.Contains(e.Silent, p.Creator) {
		return p.Creator
	}
	return e.silentHolder(p.FullName())
}

// silentHolder is the silent instance that holds the name of a pod, "" if none
// does: it may have adopted the pod. Where that cannot be read it is assumed.
func (e Elsewhere) silentHolder(fullName string) string {
	for dir, silent := range e.silentIn {
		holder, held, err := owner.Holder(dir, fullName)
		switch {
		case held && slices.Contains(silent, holder):
			return holder
		case err != nil, held && holder == "":
			return silent[0]
		}
	}
	return ""
}

// Assign makes the owner of each pod that no podctl process of this endpoint
// manages.
func (e Elsewhere) Assign(pods []*Pod) {
	for _, p := range pods {
		if p.Manager == nil && p.Runtime != nil {
			if p.Elsewhere = e.owner(p); p.Elsewhere != "" {
				p.Alive = true
			}
		}
	}
}
