package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/volume"
)

// orphanKiller ends orphans, one after the other.
type orphanKiller struct {
	*orphanFinder
	locks   *owner.Locks
	volumes *volume.Manager
	// cgroups does nothing where nothing is removed.
	cgroups node.Cgroups
	// done is what became of each, for -o json.
	done []orphanData
}

// killOrphans ends the orphans that were found, after one more look before each.
// That some cannot be ended does not keep the others from it.
func killOrphans(ctx context.Context, f *orphanFinder, v *orphanView, found []orphan) (err error) {
	if err := v.refusal(); err != nil {
		return err
	}
	o := f.opts
	if none := o.unmatched(found); len(none) > 0 {
		return &noOrphanError{name: none[0]}
	}
	if !o.printer.IsTable() {
		warnUnread(f.env, v)
	} else if err := printOrphans(f.env, o, v, found); err != nil {
		return err
	}
	k := &orphanKiller{orphanFinder: f, volumes: volume.New(f.paths.Root), cgroups: daemon.NoCgroups{}}
	if o.remove && !o.dryRun {
		if k.cgroups, err = daemon.OpenCgroups(ctx, f.client, daemon.CgroupOptions{Root: o.cgroupRoot, Log: f.env.log}); err != nil {
			return err
		}
	}
	f.self = instanceName(orphansInstance)
	if k.locks, err = owner.Open(f.paths.Locks, f.self); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.locks.Close()) }()
	var errs []error
	for _, orphan := range found {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, k.kill(ctx, orphan))
	}
	errs = append(errs, k.cgroups.RemoveEmptyParents())
	return errors.Join(append(errs, k.summarize(found))...)
}

// summarize prints what is to be said at the end.
func (k *orphanKiller) summarize(found []orphan) error {
	out := k.env.out
	if !k.opts.printer.IsTable() {
		l := output.List{}
		for i, d := range k.done {
			l.Items = append(l.Items, output.Item{Name: found[i].displayName(), Data: d})
		}
		return k.opts.printer.Print(out, l)
	}
	if left := len(found) - len(k.done); left > 0 {
		fmt.Fprintf(out, "interrupted: %s left alone\n", output.Plural(left, "orphan"))
	}
	if k.opts.dryRun && len(found) > 0 {
		fmt.Fprintln(out, "nothing was done: this was a dry run")
	}
	return nil
}

// noOrphanError: a name that was given is of no orphan.
type noOrphanError struct{ name string }

func (e *noOrphanError) Error() string { return fmt.Sprintf("no orphan %q", e.name) }

// Hint says where to look.
func (*noOrphanError) Hint() string {
	return "podctl orphans lists them; podctl stop ends a pod that somebody wants"
}

// kill ends one orphan, if it still is one.
func (k *orphanKiller) kill(ctx context.Context, o orphan) error {
	d := o.data()
	name := o.displayName()
	say := func(text string) {
		if k.opts.printer.IsTable() {
			fmt.Fprintf(k.env.out, "%s%s\n", name, text)
		}
	}
	step := func(call string) { d.Steps = append(d.Steps, call); say(": " + call) }
	var err error
	d.Result, d.Reason, err = k.endOne(ctx, o, step)
	if err != nil {
		d.Result, d.Reason = "failed", err.Error()
		err = fmt.Errorf("end orphan %s: %w", name, err)
	}
	switch {
	case d.Result == "failed", d.Result == "dry-run":
	case d.Reason != "":
		say(" " + d.Result + ": " + d.Reason)
	default:
		say(" " + d.Result)
	}
	k.done = append(k.done, d)
	return err
}

// endOne says what it has done with an orphan, and why if it has left it.
func (k *orphanKiller) endOne(ctx context.Context, o orphan, step func(string)) (result, reason string, err error) {
	if o.dir != nil && !k.opts.remove {
		return "kept", "--rm removes directories", nil
	}
	if o.name != "" {
		claimed, held := k.claim(o)
		if held != nil {
			return "spared", held.Error(), nil
		}
		if claimed {
			defer func() { err = errors.Join(err, k.locks.Release(pod.FullName(o.name, o.namespace))) }()
		}
	}
	still, reason, err := k.again(ctx, o)
	switch {
	case err != nil:
		return "", "", err
	case still == nil && reason == "":
		return "gone", "", nil
	case still == nil:
		return "spared", reason, nil
	}
	// What is begun is done: an interrupt counts before the next one.
	ctx = context.WithoutCancel(ctx)
	if still.pod != nil {
		if err := k.endRuntimePod(ctx, still.pod, step); err != nil {
			return "", "", err
		}
	}
	if k.opts.remove {
		if err := k.removeFromHost(ctx, still, step); err != nil {
			return "", "", err
		}
	}
	switch {
	case k.opts.dryRun:
		return "dry-run", "", nil
	case k.opts.remove:
		return "removed", "", nil
	}
	return "ended", "", nil
}

// claim keeps every podctl from beginning to manage a pod of the orphan's name.
// One that has the name already is not in the way of a pod that no podctl made:
// it waits for its end.
func (k *orphanKiller) claim(o orphan) (claimed bool, err error) {
	err = k.locks.Claim(pod.FullName(o.name, o.namespace))
	var held *owner.HeldError
	if o.creator == "" && o.dir == nil && errors.As(err, &held) {
		return false, nil
	}
	return err == nil, err
}

// again looks once more: at the orphan as it is now, or why it is to be spared; at
// neither if it has gone.
func (k *orphanKiller) again(ctx context.Context, o orphan) (still *orphan, spared string, err error) {
	v, err := k.look(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := v.refusal(); err != nil {
		return nil, "", err
	}
	for _, now := range orphans(v.orphanFacts) {
		if now.uid == o.uid && (now.dir == nil) == (o.dir == nil) {
			return &now, "", nil
		}
	}
	w := wanted(v.answers)
	for _, h := range v.held {
		if h.uid != o.uid {
			continue
		}
		switch who := w.by(h.uid, pod.FullName(h.name, h.namespace), h.creator != ""); {
		case who != "":
			return nil, who + " wants it now", nil
		case h.manager != nil:
			return nil, h.manager.Instance() + " has it now", nil
		}
		return nil, "a podctl has it now", nil
	}
	for _, d := range v.dirs {
		if d.uid == o.uid && d.keep != "" {
			return nil, d.keep, nil
		}
	}
	if v.dirsUnknown != "" && o.dir != nil {
		return nil, v.dirsUnknown, nil
	}
	return nil, "", nil
}
