package leak

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	// removalTime is how long a thing may outlast its pod: a runtime answers that a pod is removed
	// before its shim has exited.
	removalTime = 5 * time.Second
	// removalPeriod is the poll interval until then.
	removalPeriod = 500 * time.Millisecond
	// maxAsked bounds the sandboxes that are asked for their network namespaces.
	maxAsked = 1000
)

// Finder looks for leaks, as often as it is asked.
type Finder struct {
	Client *cri.Client
	Host   Host
	// CgroupRoot is the name of the cgroup that podctl has for this runtime only, "" if
	// other runtimes may have it, too.
	CgroupRoot string
	Now        func() time.Time
	// observed are the things of the last look, and when each was first seen.
	observed []observation
}

// observation is a thing and the time at which a look first found it.
type observation struct {
	thing Thing
	first time.Time
}

// Known are the pods that exist beside those that the runtime lists.
type Known struct {
	// Pods are those of live podctl processes beside the listed ones; Unknown is why there may
	// be more, "" if there are not.
	Pods    map[types.UID]pod.Identity
	Unknown string
}

// Find looks for leaks: it lists the runtime's pods, looks at the host, and lists them again. The
// cgroups of pods are looked at only if it is known which pods there are. It
// blocks for five seconds if there are any that an earlier Find has not seen.
func (f *Finder) Find(ctx context.Context, known *Known) (Findings, error) {
	r, why, err := f.runtime(ctx)
	if err != nil || why != "" {
		return Findings{Unread: []string{why}}, err
	}
	for begin := f.Now(); ; {
		found, err := f.look(ctx, r, known)
		if err != nil {
			return Findings{}, err
		}
		if settled := f.settledLeaks(found); len(settled) == len(found.Leaks) || f.Now().Sub(begin) > 2*removalTime {
			found.Leaks = settled
			return found, nil
		}
		select {
		case <-ctx.Done():
			return Findings{}, ctx.Err()
		case <-time.After(removalPeriod):
		}
	}
}

// runtime reads where the runtime has its files; why is why that is of no use, "" if it is.
func (f *Finder) runtime(ctx context.Context) (r Runtime, why string, err error) {
	pid, why := f.Host.whyBlind(f.Client.Endpoint())
	if why != "" {
		return r, why, nil
	}
	config, err := f.Client.RuntimeConfig(ctx)
	if err != nil {
		return r, "", err
	}
	r = newRuntime(config)
	if r.StateDir == "" && r.ExitDir == "" {
		return r, "the runtime does not show where it has its files", nil
	}
	r.PID, r.CgroupRoot = pid, f.CgroupRoot
	r.Socket = strings.TrimPrefix(f.Client.Endpoint().Runtime, "unix://")
	r.NamespaceDir = filepath.Dir(proc.ResolvedPath(filepath.Join(r.NamespaceDir, "x")))
	if r.StateDir != "" {
		r.StateDir = filepath.Dir(proc.ResolvedPath(filepath.Join(r.StateDir, "x")))
	}
	return r, "", nil
}

// look is one look: list, scan, list.
func (f *Finder) look(ctx context.Context, r Runtime, known *Known) (Findings, error) {
	facts := Facts{Listed: map[string]bool{}, Pods: map[types.UID]pod.Identity{}, Now: f.Now()}
	if err := f.list(ctx, &facts); err != nil {
		return Findings{}, err
	}
	facts.Scan = f.Host.Look(r, facts.Listed)
	if err := f.list(ctx, &facts); err != nil {
		return Findings{}, err
	}
	if known == nil {
		facts.Things = slices.DeleteFunc(facts.Things, func(t Thing) bool { return t.Pod != "" })
	} else {
		facts.PodsUnknown = known.Unknown
		maps.Copy(facts.Pods, known.Pods)
	}
	if facts.hasUnclaimedNamespaces() {
		if err := f.askNamespaces(ctx, &facts); err != nil {
			return Findings{}, err
		}
	}
	return Judge(facts), nil
}

// list adds what the runtime lists.
func (f *Finder) list(ctx context.Context, facts *Facts) error {
	listed, err := f.Client.ListPods(ctx)
	if err != nil {
		return err
	}
	for _, p := range listed {
		for id := range p.IDs() {
			facts.Listed[id] = true
		}
		for _, c := range p.Containers {
			facts.Listed[c.SandboxID] = true
		}
		facts.Pods[p.UID] = pod.Identity{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	}
	for uid := range pod.UIDs(listed) {
		if _, ok := facts.Pods[uid]; !ok {
			facts.Pods[uid] = pod.Identity{UID: uid}
		}
	}
	delete(facts.Listed, "")
	return nil
}

// askNamespaces asks for the namespaces of each listed sandbox. They remain unknown if one does not
// say which network namespace it has, nor that it has the host's.
func (f *Finder) askNamespaces(ctx context.Context, facts *Facts) error {
	listed, err := f.Client.ListPods(ctx)
	if err != nil {
		return err
	}
	namespaces, asked := map[string]bool{}, 0
	for _, p := range listed {
		for _, s := range p.Sandboxes {
			if asked++; asked > maxAsked {
				return nil
			}
			d, err := f.Client.SandboxDetails(ctx, s.ID)
			if err != nil || d.NetNS == "" && !d.HostNetwork {
				return nil // it has gone since, or does not answer
			}
			for _, path := range d.Namespaces {
				namespaces[facts.Runtime.netns(Thing{Path: path})] = true
			}
		}
	}
	facts.ListedNamespaces = namespaces
	return nil
}

// settledLeaks records what a look has found, and returns the leaks that have been found for
// removalTime.
func (f *Finder) settledLeaks(found Findings) (settled []Leak) {
	now := f.Now()
	var seen []observation
	for _, l := range found.Leaks {
		old := true
		for _, t := range l.Things {
			s := observation{t, now}
			if i := slices.IndexFunc(f.observed, func(s observation) bool { return s.thing.same(t) }); i >= 0 {
				s = f.observed[i]
			}
			old = old && now.Sub(s.first) >= removalTime
			seen = append(seen, s)
		}
		if old {
			settled = append(settled, l)
		}
	}
	f.observed = seen
	return settled
}
