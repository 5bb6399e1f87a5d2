package images

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
)

// parallelPulls is how many images are pulled at once.
const parallelPulls = 3

// pullOptions are the options of `podctl pull`.
type pullOptions struct {
	shell.Globals
	images []string
	format output.Format
	// login is USER:PASSWORD of --creds, "" if there are none; config is where else to
	// look.
	login  string
	config credential.Config
}

// pullCommand is `podctl pull`.
func pullCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "pull",
		Usage:   "pull images",
		Args:    cmdline.Args{Of: cmdline.Image, Many: true},
		Effect:  cmdline.Changes,
		Aliases: []string{"image pull"},
		Data:    []any{pullData{}},
		Description: "Pulls up to 3 images at once. Without --creds the credentials are those of docker's config\n" +
			"file, its credential helpers, and the kubelet's; each that fits is tried.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(shell.CredentialFlags(),
			&cli.StringFlag{Name: "creds", DefaultText: "none", Usage: "`USER:PASSWORD` for all images; - reads it from standard input, so that no process listing shows it"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o := pullOptions{Globals: shell.ReadGlobals(c), images: c.Args().Slice(), login: c.String("creds")}
			var err error
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			if len(o.images) == 0 {
				return &shell.UsageError{Message: "no image given", Advice: "podctl pull IMAGE …"}
			}
			if o.config, err = shell.ReadCredentials(c); err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runPull(ctx, e, o) })
		},
	}
}

func runPull(ctx context.Context, e *shell.Env, o pullOptions) error {
	credentials, err := o.credentials(ctx, e)
	if err != nil {
		return err
	}
	client, disconnect, err := shell.Connect(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer disconnect()
	var left atomic.Int64
	left.Store(int64(len(o.images)))
	progress := shell.StartProgress(e, true, func(took time.Duration) string {
		return fmt.Sprintf("pulling %s, %s", output.Plural(int(left.Load()), "image"), output.Age(took))
	})
	pulled := make([]pullData, len(o.images))
	errs := make([]error, len(o.images))
	var g errgroup.Group
	g.SetLimit(parallelPulls)
	for n, image := range o.images {
		g.Go(func() error {
			pulled[n], errs[n] = pullOne(ctx, e, client, image, credentials)
			left.Add(-1)
			return nil
		})
	}
	_ = g.Wait() // returns no error
	progress.Stop()
	l := output.List{Header: []string{"IMAGE", "ID", "SIZE", "TOOK"}}
	for n, p := range pulled {
		if errs[n] == nil {
			l.Items = append(l.Items, output.Item{
				Name: p.Image, Data: p,
				Cells: []string{p.Image, shortImageID(p.ID, o.NoTrunc), usage.Size(p.Size), output.ShortTime(time.Duration(p.Seconds * float64(time.Second)))},
			})
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.format.Width = e.TableWidth(o.NoTrunc)
	return errors.Join(append([]error{o.format.Print(e.Out, l)}, errs...)...)
}

// pullData is one image of `podctl pull -o json`.
type pullData struct {
	Image   string  `json:"image"`   // as it was pulled: with a tag
	ID      string  `json:"id"`      // of the runtime
	Size    uint64  `json:"size"`    // bytes, as the runtime reports them
	Seconds float64 `json:"seconds"` // that the pull took
}

// credentials returns what looks up credentials: those of --creds alone, if there are.
func (o pullOptions) credentials(ctx context.Context, e *shell.Env) (credential.Lookup, error) {
	if o.login == "" {
		return UserCredentials(e, o.config)
	}
	text := o.login
	if text == "-" {
		var err error
		if text, err = readLine(ctx, e.In); err != nil {
			return nil, fmt.Errorf("--creds: read standard input: %w", err)
		}
	}
	login, err := credential.ParseLogin(text)
	if err != nil {
		return nil, shell.Usagef("--creds: %v", err)
	}
	return credential.Fixed(login), nil
}

// UserCredentials looks up the credentials of docker's config file, its credential
// helpers, and the kubelet's.
func UserCredentials(e *shell.Env, config credential.Config) (credential.Lookup, error) {
	sources, err := config.Open(credential.ForUser(e.Log), e.Now)
	return credential.Node{Sources: sources, Log: e.Log}.Credentials, err
}

// maxLine bounds a line of standard input.
const maxLine = 64 << 10

// readLine reads the first line; it ends with ctx.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	line, err := shell.Await(ctx, func() (string, error) {
		return bufio.NewReader(io.LimitReader(in, maxLine)).ReadString('\n')
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// pullOne pulls an image and returns what the runtime has of it.
func pullOne(ctx context.Context, e *shell.Env, client *cri.Client, image string, credentials credential.Lookup) (pullData, error) {
	name, err := pod.WithTag(image)
	if err != nil {
		return pullData{}, err
	}
	begun := e.Now()
	ref, err := images.Pull(ctx, client, name, credentials)
	if err != nil {
		return pullData{}, err
	}
	took := e.Now().Sub(begun)
	status, err := client.ImageStatus(ctx, ref)
	if err != nil {
		return pullData{}, err
	}
	if status == nil {
		status = &pod.Image{ID: ref}
	}
	return pullData{Image: name, ID: status.ID, Size: status.Size, Seconds: took.Round(time.Millisecond).Seconds()}, nil
}
