package orphan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Finder looks for orphans, as often as it is asked.
type Finder struct {
	owners.Asker
	Client *cri.Client
	// Logs is the directory of logs, Root that of pod directories.
	Logs, Root string
	// SkipDirs: the directories below Root are not looked at.
	SkipDirs bool
	// Leaks looks for what sandboxes left; nil where that is not looked for.
	Leaks *leak.Finder
}

// View is one look at the node.
type View struct {
	Facts
	// OwnerIsGone: the user says that podctl processes that are not seen do not exist.
	OwnerIsGone bool
}

// Look asks all sources. The order keeps a pod that is created meanwhile from
// being taken for an orphan: directories and the runtime are listed before any
// source is asked what it desires.
func (f *Finder) Look(ctx context.Context) (*View, error) {
	dirs, err := f.listDirs()
	if err != nil {
		return nil, err
	}
	listed, err := f.Client.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	f.Kubelet, f.Everybody, f.ReadExits = owners.KubeletAlways, true, true
	answers, err := f.Ask(ctx, f.Client, listed)
	if err != nil {
		return nil, err
	}
	if answers.Unread != nil {
		return nil, answers.Unread
	}
	read := map[string]bool{}
	for _, d := range dirs {
		if read[d.Instance] {
			continue
		}
		if err := f.ReadExit(answers, d.Instance); err != nil {
			return nil, err
		}
		read[d.Instance] = true
	}
	f.Known = maps.Clone(answers.Exited)
	v := &View{Facts: Facts{Answers: answers, Pods: view.Merge(listed, answers)}, OwnerIsGone: f.OwnerIsGone}
	f.judgeDirs(v, dirs)
	return v, nil
}

// Missing is an error for each named manifest that does not exist: a mistyped
// name, not a source that fails to answer.
func (v *View) Missing() error {
	var errs []error
	for _, s := range v.Answers.Sources {
		if s.Kind == owners.FromFile && errors.Is(s.Err, fs.ErrNotExist) {
			errs = append(errs, s.Err)
		}
	}
	return errors.Join(errs...)
}

// Refusal is why no pod may be terminated after this look: without an answer that
// is missing, pods of that source would count as orphans.
func (v *View) Refusal() error {
	var errs []error
	for _, s := range v.Answers.Sources {
		if s.Err != nil && s.Named {
			errs = append(errs, s.Err)
		}
	}
	k := &v.Answers.Kubelet
	if k.Named {
		errs = append(errs, k.Err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the desired pods are not known: %w", err)
	}
	if k.PID != 0 && k.Gone {
		return fmt.Errorf("--kubelet-is-gone: a kubelet (pid %d) uses this runtime", k.PID)
	}
	return nil
}

// Undetermined is the error of pods that cannot be terminated as orphans, because what
// their owners desire is not known; nil if there are none.
func Undetermined(pods []*view.Pod) error {
	switch len(pods) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s may not be orphaned: %w", pods[0].DisplayName(), WhyUnknown(pods))
	}
	return fmt.Errorf("%d pods may not be orphaned: %w", len(pods), WhyUnknown(pods))
}

// KillHint is the next command to try.
func (v *View) KillHint(all Findings) string {
	err := v.Refusal()
	if err == nil && len(all.Undetermined) > 0 {
		err = WhyUnknown(all.Undetermined)
	}
	if err != nil {
		if advice := hint.Of(err); advice != "" {
			return strings.ReplaceAll(advice, "\n", "\nhint: ")
		}
		return "podctl orphans --kill would refuse: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	found, running := all.Orphans, 0
	for _, o := range found {
		if o.Running() {
			running++
		}
	}
	kill := "podctl orphans --kill"
	if v.Answers.Kubelet.Gone {
		kill += " --kubelet-is-gone"
	}
	if v.OwnerIsGone {
		kill += " --owner-is-gone"
	}
	switch {
	case running == 0:
		return fmt.Sprintf("%s --rm removes %s", kill, counted(len(found)))
	case running < len(found):
		return fmt.Sprintf("%s terminates %s, with --rm it removes %s", kill, counted(running), counted(len(found)))
	}
	return kill + " terminates " + counted(running)
}

// counted is "this one" or "these 3".
func counted(n int) string {
	if n == 1 {
		return "this one"
	}
	return fmt.Sprintf("these %d", n)
}
