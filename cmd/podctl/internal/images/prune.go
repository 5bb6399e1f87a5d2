package images

import (
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
		Description: "Lists the images that no container, image volume or known pod spec uses and that the runtime does\n" +
			"not ask to keep, asks, and removes them. Containers and sandboxes are never removed: they belong\n" +
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
	l, err := openImages(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer l.Close()
	unused, err := l.unused(ctx)
	if err != nil {
		return err
	}
	o.format.Width = e.TableWidth(o.NoTrunc)
	if len(unused) == 0 && o.format.IsTable() {
		fmt.Fprintln(e.Errw, "no unused images")
		return nil
	}
	if o.dryRun {
		return o.format.Print(e.Out, removedListing("UNUSED", unused, o.NoTrunc))
	}
	if !o.yes {
		if ok, err := o.confirmed(ctx, e, unused); !ok || err != nil {
			return err
		}
		// Pods may have started while the user thought.
		again, err := l.unused(ctx)
		if err != nil {
			return err
		}
		unused = slices.DeleteFunc(unused, func(i *images.Image) bool {
			return !slices.ContainsFunc(again, func(other *images.Image) bool { return other.ID == i.ID })
		})
	}
	return l.remove(ctx, e, o, unused)
}

// unused returns the images that nothing uses.
func (l *imageLister) unused(ctx context.Context) ([]*images.Image, error) {
	all, err := l.images(ctx)
	return slices.DeleteFunc(all, func(i *images.Image) bool { return !i.Unused() }), err
}

// confirmed lists the images and asks.
func (o pruneOptions) confirmed(ctx context.Context, e *shell.Env, unused []*images.Image) (bool, error) {
	table := output.Format{Width: o.format.Width, NoHeaders: o.format.NoHeaders}
	if err := table.Print(e.Out, removedListing("UNUSED", unused, o.NoTrunc)); err != nil {
		return false, err
	}
	fmt.Fprintf(e.Out, "remove %s, %s? [y/N] ", output.Plural(len(unused), "image"), output.Size(sizeOf(unused)))
	answer, err := readLine(ctx, e.In)
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))), err
}

// remove removes the images and reports what that freed.
func (l *imageLister) remove(ctx context.Context, e *shell.Env, o pruneOptions, unused []*images.Image) error {
	var removed []*images.Image
	var errs []error
	for _, i := range unused {
		if err := l.Client.RemoveImage(ctx, i.ID); err != nil {
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
		fmt.Fprintf(e.Errw, "removed %s, %s by their own sizes; layers that remaining images share are kept\n", output.Plural(len(removed), "image"), output.Size(sizeOf(removed)))
	}
	return errors.Join(errs...)
}

func sizeOf(all []*images.Image) (n uint64) {
	for _, i := range all {
		n += i.Size
	}
	return n
}
