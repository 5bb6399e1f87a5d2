package tape

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// settleTime is how long a runtime may take to notice that a process has exited.
const settleTime = 300 * time.Millisecond

// HostOptions say where the files of a node are.
type HostOptions struct {
	Procs proc.FS
	// Cgroups is where cgroups are mounted.
	Cgroups string
	// MountsOf is a process whose mounts are recorded, 0 for none.
	MountsOf int
}

// Host adds the processes of the node, and the cgroups of those of containers, after the last
// answer of the runtime. A process that ends between that answer and this look is not one that
// the runtime has not noticed: the runtime is asked again.
func (r *Recorder) Host(ctx context.Context, o HostOptions) error {
	files, err := ReadProcesses(o.Procs, o.MountsOf)
	if err != nil {
		return fmt.Errorf("record processes: %w", err)
	}
	if !allRun(files, r.Writer.PIDs()) {
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return ctx.Err()
		}
		r.listed = nil // all statuses again
		if err := r.relist(ctx); err != nil {
			return err
		}
		if files, err = ReadProcesses(o.Procs, o.MountsOf); err != nil {
			return fmt.Errorf("record processes: %w", err)
		}
	}
	cgroups, err := ReadCgroups(o.Procs, o.Cgroups, r.Writer.PIDs())
	if err != nil {
		return fmt.Errorf("record cgroups: %w", err)
	}
	return r.Writer.AddFiles(append(files, cgroups...))
}

// allRun reports whether all processes are among the files, and have not ended.
func allRun(files []File, pids []int) bool {
	run := map[string]bool{}
	for _, f := range files {
		// PID (NAME) STATE …, and the name may have any character
		at := strings.LastIndex(f.Text, ") ") + 2
		run[f.Path] = at > 1 && at < len(f.Text) && !proc.State(f.Text[at]).Ended()
	}
	return !slices.ContainsFunc(pids, func(pid int) bool { return !run[fmt.Sprintf("%s/%d/stat", procDir, pid)] })
}

// PIDs returns the processes that the last statuses of containers and sandboxes name, in order.
func (w *Writer) PIDs() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[int]bool{}
	for _, pid := range w.pids {
		if pid > 0 {
			found[pid] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// pidOf returns the process that a status names, 0 if it names none.
func pidOf(p prepared) int {
	if p.about.method != "ContainerStatus" && p.about.method != "PodSandboxStatus" {
		return 0
	}
	var status struct {
		Info map[string]string `json:"info"`
	}
	var info struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal(p.line.Answer, &status) != nil || json.Unmarshal([]byte(status.Info["info"]), &info) != nil {
		return 0
	}
	return info.PID
}
