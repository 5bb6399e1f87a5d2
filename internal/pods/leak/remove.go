package leak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// Remover removes leaks.
type Remover struct {
	Host Host
	// DryRun calls Step only.
	DryRun bool
	// Step is called before each thing is removed, and again with the error if that failed.
	Step func(call string, failure error)
}

// errChanged: a thing is not what it was when it was looked at.
var errChanged = hint.Errorf("podctl orphans looks again", "it is not what it was a moment ago")

// Remove removes what both of two looks have found of one leak. What is gone by then is no
// error, and one thing that cannot be removed does not keep it from the others.
func (r *Remover) Remove(ctx context.Context, earlier, now Leak) error {
	if now.Assumed {
		return hint.Errorf(now.removalByHand(), "it is not known, only likely, that it is this runtime's")
	}
	var errs []error
	for _, t := range now.Things {
		if !earlier.has(t) {
			continue
		}
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		call := t.removal()
		r.Step(call, nil)
		if r.DryRun {
			continue
		}
		if err := r.remove(ctx, t); err != nil {
			r.Step(call, err)
			errs = append(errs, fmt.Errorf("%s: %w", call, err))
		}
	}
	return errors.Join(errs...)
}

// removalByHand is the command that removes the files of addresses which still have the id.
func (l Leak) removalByHand() string {
	words := []string{"grep -lZ", l.ID}
	for _, t := range l.Things {
		words = append(words, shellQuoted(t.Path))
	}
	return strings.Join(words, " ") + " | xargs -0r rm removes it"
}

// shellQuoted is a word of a shell command.
func shellQuoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// has reports whether a look found the thing, too.
func (l Leak) has(t Thing) bool {
	for _, own := range l.Things {
		if own.same(t) {
			return true
		}
	}
	return false
}

// removal is what is done to remove a thing, in words.
func (t Thing) removal() string {
	switch t.Kind {
	case Process, Shim:
		return fmt.Sprintf("SIGKILL %s (pid %d)", t.Name, t.PID)
	case Mount:
		return "detach " + t.Path
	case NetworkNamespace, IPCNamespace, UTSNamespace, UserNamespace:
		return "unmount and remove " + t.Path
	case Lease:
		return "remove " + t.Path
	case Cgroup:
		return "remove cgroup " + t.Path
	}
	return string(t.Kind)
}

// String returns the thing in a few words: "shim containerd-shim (pid 812)", "address 10.88.0.5 of
// network net", "mount …/rootfs".
func (t Thing) String() string {
	switch {
	case t.PID != 0:
		return fmt.Sprintf("%s %s (pid %d)", t.Kind, t.Name, t.PID)
	case t.Kind == Lease:
		return fmt.Sprintf("%s %s", t.Kind, t.Name)
	case t.Pod != "":
		return fmt.Sprintf("%s pod%s", t.Kind, t.Pod)
	}
	return fmt.Sprintf("%s %s", t.Kind, filepath.Base(t.Path))
}
