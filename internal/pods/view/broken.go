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

// IsBroken reports whether the container runs according to the runtime, and its first process does not.
func (c *Container) IsBroken() bool { return c.State == Running && (c.Gone || c.Frozen != "") }

// maxSuspects bounds the containers of which BrokenProcesses asks the runtime: where more look
// broken, podctl does not know their cgroups.
const maxSuspects = 100

// BrokenProcesses returns what is known of the processes of broken containers, by container id; none where the
// processes cannot be seen. It asks the runtime only about containers whose cgroup is frozen, empty or not found.
func (r *Reader) BrokenProcesses(ctx context.Context, pods []*Pod) map[string]*Container {
	if r.Runtime == nil || !r.SeesProcesses() {
		return nil
	}
	tree, err := cgroup.Scan(r.Cgroups)
	if err != nil && !r.Recorded {
		return nil
	}
	var suspects []*pod.Container
	for _, p := range pods {
		for _, c := range p.ListedContainers() {
			if c.State == pod.Running && (err != nil || isSuspect(tree, c.ID)) {
				suspects = append(suspects, c)
			}
		}
	}
	if len(suspects) > maxSuspects {
		return nil
	}
	found, mu := map[string]*Container{}, sync.Mutex{}
	_ = cri.ReadEach(ctx, len(suspects), func(ctx context.Context, i int) error {
		info, err := processOf(ctx, r.Runtime, suspects[i].ID)
		if err != nil {
			return err
		}
		c := &Container{Name: suspects[i].Name, ID: suspects[i].ID, State: Running, PID: info.PID}
		if r.examineProcess(ctx, c); c.IsBroken() {
			mu.Lock()
			defer mu.Unlock()
			found[c.ID] = c
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

// examineProcess examines the first process of a container that runs according to the runtime: it is gone if no
// process has the PID, or a zombie, although the runtime had time to notice that.
func (r *Reader) examineProcess(ctx context.Context, c *Container) {
	if c.PID == 0 {
		return
	}
	p, err := r.Procs.Read(c.PID)
	if errors.Is(err, proc.ErrGone) || err == nil && p.State.Ended() {
		c.Gone = exitedUnnoticed(ctx, r.Runtime, c.ID, c.PID)
	} else if err == nil {
		c.Frozen = FrozenBy(r.Procs, r.Cgroups, c.PID)
	}
}

// readProcesses examines the processes of the containers that run according to the runtime.
func (r *Reader) readProcesses(ctx context.Context, p *Pod) {
	if r.Runtime == nil || !r.SeesProcesses() {
		return
	}
	for i := range p.Containers {
		if p.Containers[i].State == Running {
			r.examineProcess(ctx, &p.Containers[i])
		}
	}
}
