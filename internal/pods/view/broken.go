package view

import (
	"context"
	"errors"
	"sync"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// BrokenProcess is the first process of a container that runs according to the runtime, and does
// not. The zero value is one that runs, or cannot be seen.
type BrokenProcess struct {
	Container string // its name
	PID       int
	Gone      bool   // no process has the PID, or it is a zombie, although the runtime had time to notice that
	Frozen    string // file of the cgroup that freezes it
}

// IsBroken reports whether the process does not run.
func (b BrokenProcess) IsBroken() bool { return b.Gone || b.Frozen != "" }

// maxSuspects bounds the containers of which BrokenProcesses asks the runtime: where more look
// broken, podctl does not know their cgroups.
const maxSuspects = 100

// BrokenProcesses returns the broken processes of containers that the runtime lists as running, by
// container id. It asks the runtime only about containers whose cgroup is frozen, empty or not found;
// it knows none where the processes cannot be seen.
func (r *Reader) BrokenProcesses(ctx context.Context, pods []*Pod) map[string]BrokenProcess {
	if r.Runtime == nil || !r.SeesProcesses() {
		return nil
	}
	tree, err := cgroup.Scan(r.Cgroups)
	if err != nil && !r.Recorded {
		return nil
	}
	var suspects []*pod.Container
	for _, p := range pods {
		if p.Runtime == nil {
			continue
		}
		for _, c := range p.Runtime.Containers {
			if c.State == pod.Running && (err != nil || isSuspect(tree, c.ID)) {
				suspects = append(suspects, c)
			}
		}
	}
	if len(suspects) > maxSuspects {
		return nil
	}
	found, mu := map[string]BrokenProcess{}, sync.Mutex{}
	_ = cri.ReadEach(ctx, len(suspects), func(ctx context.Context, i int) error {
		c := suspects[i]
		info, err := processOf(ctx, r.Runtime, c.ID)
		if err != nil {
			return err
		}
		if b := r.examineProcess(ctx, c.Name, c.ID, info.PID); b.IsBroken() {
			mu.Lock()
			defer mu.Unlock()
			found[c.ID] = b
		}
		return nil
	})
	return found
}

// isSuspect reports whether the cgroup of a container is frozen, empty or not found.
func isSuspect(tree *cgroup.Tree, id string) bool {
	group := tree.Container(id)
	if group == "" {
		return true
	}
	if isFrozen(tree.File(group, "freezer", "")) {
		return true
	}
	if read(tree.File(group, "memory", ""), "cgroup.procs") != "" {
		return false
	}
	pids, err := tree.Processes(group, 1) // of cgroups that the container has made
	return err == nil && len(pids) == 0
}

// examineProcess examines the first process of a container that runs according to the runtime.
func (r *Reader) examineProcess(ctx context.Context, name, id string, pid int) BrokenProcess {
	b := BrokenProcess{Container: name, PID: pid}
	if pid == 0 {
		return b
	}
	p, err := r.Procs.Read(pid)
	if errors.Is(err, proc.ErrGone) || err == nil && p.State.Ended() {
		b.Gone = exitedUnnoticed(ctx, r.Runtime, id, pid)
	} else if err == nil {
		b.Frozen = FrozenBy(r.Procs, r.Cgroups, pid)
	}
	return b
}

// readProcesses examines the processes of the containers that run according to the runtime.
func (r *Reader) readProcesses(ctx context.Context, p *Pod) {
	if r.Runtime == nil || !r.SeesProcesses() {
		return
	}
	for i := range p.Containers {
		if c := &p.Containers[i]; c.State == Running {
			b := r.examineProcess(ctx, c.Name, c.ID, c.PID)
			c.Gone, c.Frozen = b.Gone, b.Frozen
		}
	}
}

// Broken returns the broken process of a container that runs according to the runtime.
func (c *Container) Broken() BrokenProcess {
	if c.State != Running {
		return BrokenProcess{}
	}
	return BrokenProcess{Container: c.Name, PID: c.PID, Gone: c.Gone, Frozen: c.Frozen}
}
