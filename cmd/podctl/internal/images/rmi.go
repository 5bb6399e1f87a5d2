package images

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/sys/hint"
)

// rmiOptions are the options of `podctl rmi`.
type rmiOptions struct {
	shell.Globals
	words  []string
	force  bool
	format output.Format
}

// rmiCommand is `podctl rmi`.
func rmiCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "rmi",
		Usage:     "remove images",
		Args:      cmdline.Args{Of: cmdline.StoredImage, Many: true},
		Effect:    cmdline.Changes,
		Aliases:   []string{"image rm"},
		FlagHints: map[string]string{"a": "podctl prune", "all": "podctl prune", "q": "podctl prune", "prune": "podctl prune"},
		Data:      []any{removedImage{}},
		Description: "Removes an image with all its names. Refuses an image that a pod uses, or that has names which\n" +
			"were not given, unless --force; and always one that the runtime asks to keep. Containers that\n" +
			"run go on; a pod that needs the image again pulls it. A name goes before an id; only a pattern\n" +
			"stands for several images.\n" +
			"-o is " + output.Formats + ".",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "also remove images that pods use, and names that were not given"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o := rmiOptions{Globals: shell.ReadGlobals(c), words: c.Args().Slice(), force: c.Bool("force")}
			if len(o.words) == 0 {
				return &shell.UsageError{Message: "no image given", Advice: "podctl rmi NAME …; podctl images lists them"}
			}
			var err error
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runRmi(ctx, e, o) })
		},
	}
}

func runRmi(ctx context.Context, e *shell.Env, o rmiOptions) error {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	l := &images.Lister{Session: s}
	all, unread, err := l.Images(ctx)
	if err != nil {
		return err
	}
	chosen, refused := images.SelectForChange(all, o.words)
	errs := []error{refused}
	var removed []*images.Image
	for _, i := range chosen {
		if err := o.refusal(i, unread); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := l.Client.RemoveImage(ctx, i.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, i.Image)
	}
	if len(removed) > 0 || !o.format.IsTable() {
		o.format.Width = e.TableWidth(o.NoTrunc)
		errs = append(errs, o.format.Print(e.Out, removedListing("REMOVED", removed, o.NoTrunc)))
	}
	return errors.Join(errs...)
}

// removedImage is one image of `podctl rmi -o json` and `podctl prune -o json`.
type removedImage struct {
	ID          string   `json:"id"`                    // of the runtime
	RepoTags    []string `json:"repoTags,omitempty"`    // names with a tag
	RepoDigests []string `json:"repoDigests,omitempty"` // names with a digest
	Size        uint64   `json:"size"`                  // bytes, as the runtime reported them; shared layers count
}

// removedListing lists images under a header that says what becomes of them.
func removedListing(header string, all []*images.Image, full bool) output.List {
	l := output.List{Header: []string{header, "ID", "SIZE"}}
	for _, i := range all {
		l.Items = append(l.Items, output.Item{
			Name: i.Name(), Data: removedImage{i.ID, i.RepoTags, i.RepoDigests, i.Size},
			Cells: []string{namesText(i), shortImageID(i.ID, full), usage.Size(i.Size)},
		})
	}
	return l
}

// refusal returns why an image is not removed; nil if it is. unread is that of
// images.Lister.
func (o rmiOptions) refusal(i images.Choice, unread error) error {
	switch {
	case i.Pinned:
		return fmt.Errorf("%s: the runtime keeps this image for its sandboxes", i.Name())
	case o.force:
		return nil
	case len(i.Uses) > 0:
		return hint.Errorf("podctl rmi --force removes it; its containers keep running", "%s is in use by %s", i.Name(), usersText(i.Uses))
	case i.MayBeUnused():
		return hint.Errorf("podctl rmi --force removes it all the same", "%s may be in use: %w", i.Name(), unread)
	case len(i.Others) > 0:
		return hint.Errorf(fmt.Sprintf("podctl rmi %s removes the image with all its names", shortImageID(i.ID, false)),
			"%s is also named %s", i.Name(), strings.Join(i.Others, ", "))
	}
	return nil
}
