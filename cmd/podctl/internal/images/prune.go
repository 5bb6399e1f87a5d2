package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/sys/hint"
)

// pruneOptions are the options of `podctl prune`.
type pruneOptions struct {
	shell.Globals
	dryRun, yes bool
	format      output.Format
}

// pruneCommand is `podctl prune`.
func pruneCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "prune",
		Usage:   "remove the images that no pod uses",
		Args:    cmdline.Args{Instead: func(string) string { return "podctl rmi removes images by name" }},
		Effect:  cmdline.ChangesUnless("dry-run"),
		Aliases: []string{"image prune"},
		Data:    []any{removedImage{}},
		Description: "Lists the images that no container, image volume or known pod spec uses, nor a container of\n" +
			"another client in containerd's namespace k8s.io, and that the runtime does not ask to keep, asks,\n" +
			"and removes them. Containers and sandboxes are never removed: they belong\n" +
			"to the program that created them; see podctl orphans and podctl rm.\n" +
			"-o is " + output.Formats + ".",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "list the images, and remove none"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o := pruneOptions{Globals: shell.ReadGlobals(c), dryRun: c.Bool("dry-run"), yes: c.Bool("yes")}
			var err error
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			switch {
			case !o.dryRun && !o.yes && !e.TTY:
				return &shell.UsageError{Message: "the output is not a terminal: nothing can be asked", Advice: "--yes removes the images, --dry-run lists them"}
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runPrune(ctx, e, o) })
		},
	}
}

func runPrune(ctx context.Context, e *shell.Env, o pruneOptions) error {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	l := &images.Lister{Session: s}
	unused, kept, err := unusedImages(ctx, l)
	if err != nil {
		return err
	}
	o.format.Width = e.TableWidth(o.NoTrunc)
	if len(unused) == 0 && o.format.IsTable() {
		if kept == nil {
			fmt.Fprintln(e.Errw, "no unused images")
		}
		return kept
	}
	if o.dryRun {
		return errors.Join(o.format.Print(e.Out, removedListing("UNUSED", unused, o.NoTrunc)), kept)
	}
	if !o.yes {
		if ok, err := o.confirmed(ctx, e, unused); !ok || err != nil {
			return err
		}
		// Pods may have started while the user thought.
		again, keptNow, err := unusedImages(ctx, l)
		if err != nil {
			return err
		}
		kept = cmp.Or(keptNow, kept)
		unused = slices.DeleteFunc(unused, func(i *images.Image) bool {
			return !slices.ContainsFunc(again, func(other *images.Image) bool { return other.ID == i.ID })
		})
	}
	return errors.Join(o.remove(ctx, e, s, unused), kept)
}

// unusedImages returns the images that nothing uses. kept is the error of those of which that is
// not known, nil if there are none.
func unusedImages(ctx context.Context, l *images.Lister) (unused []*images.Image, kept, err error) {
	all, unread, err := l.Images(ctx)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for _, i := range all {
		switch {
		case i.Unused():
			unused = append(unused, i)
		case i.MayBeUnused():
			n++
		}
	}
	if n > 0 {
		kept = hint.Errorf("podctl rmi --force IMAGE removes an image all the same", "kept %s that may be in use: %w", output.Plural(n, "image"), unread)
	}
	return unused, kept, nil
}

// confirmed lists the images and asks.
func (o pruneOptions) confirmed(ctx context.Context, e *shell.Env, unused []*images.Image) (bool, error) {
	table := output.Format{Width: o.format.Width, NoHeaders: o.format.NoHeaders}
	if err := table.Print(e.Out, removedListing("UNUSED", unused, o.NoTrunc)); err != nil {
		return false, err
	}
	fmt.Fprintf(e.Out, "remove %s, %s? [y/N] ", output.Plural(len(unused), "image"), usage.Size(sizeOf(unused)))
	answer, err := readLine(ctx, e.In)
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), err
}

// remove removes the images and reports what that freed.
func (o pruneOptions) remove(ctx context.Context, e *shell.Env, s *target.Session, unused []*images.Image) error {
	var removed []*images.Image
	var errs []error
	for _, i := range unused {
		if err := s.Client.RemoveImage(ctx, i.ID); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		removed = append(removed, i)
	}
	errs = append(errs, o.format.Print(e.Out, removedListing("REMOVED", removed, o.NoTrunc)))
	if o.format.IsTable() {
		fmt.Fprintf(e.Errw, "removed %s, %s by their own sizes; layers that remaining images share are kept\n", output.Plural(len(removed), "image"), usage.Size(sizeOf(removed)))
	}
	return errors.Join(errs...)
}

func sizeOf(all []*images.Image) (n uint64) {
	for _, i := range all {
		n += i.Size
	}
	return n
}
