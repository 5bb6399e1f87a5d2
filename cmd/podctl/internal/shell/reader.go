package shell

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/journal"
)

// NewReader returns a reader of the pods of a runtime that is not connected yet.
func NewReader(e *Env, endpoint cri.Endpoint, paths host.Paths) *view.Reader {
	return &view.Reader{
		Asker: owners.Asker{Locks: paths.Locks, Dial: e.Dial, Procs: e.Procs, Kubelet: owners.KubeletIfNeeded, Answered: e.RecordedOwners()},
		Log:   e.Log, Unanswered: func(err error) { fmt.Fprintf(e.Errw, "warning: %v\n", err) },
		Server: e.ServerOf(endpoint), PodDirs: paths.Pods(), DirName: paths.Dirs().Name, Cgroups: e.CgroupMounts(),
		Now: e.Now, Events: podEvents(e, paths.Root), KernelLog: e.ReadKills, Recorded: e.Recording != nil,
	}
}

// maxEvents is how many events of a pod describe shows.
const maxEvents = 20

// podEvents returns a function that reads the newest events of a pod from the journal
// below podctl's root directory.
func podEvents(e *Env, root string) func(context.Context, *view.Pod) ([]view.Event, error) {
	return func(_ context.Context, p *view.Pod) ([]view.Event, error) {
		if e.Recording != nil {
			return nil, view.ErrNotRecorded
		}
		return journal.PodEvents(journal.Dir(root), p.UID, maxEvents)
	}
}
