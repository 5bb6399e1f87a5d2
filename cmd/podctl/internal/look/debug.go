package look

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pods/debugger"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// debugOptions are the options of `podctl debug`.
type debugOptions struct {
	shell.Globals
	streamOptions
	query     target.Query
	container v1.EphemeralContainer
	// credentials are those of registries.
	credentials credential.Config
}

// debugCommand returns `podctl debug`.
func debugCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "debug",
		Usage:  "run a container with tools in a pod",
		Args:   cmdline.Args{Of: cmdline.Pod, Rest: cmdline.MayProgram},
		Effect: cmdline.Changes,
		Description: "The container is in the pod's network and, with --target, sees the processes of one of its\n" +
			"containers. In a pod of a live podctl process it is an ephemeral container of the pod: it runs\n" +
			"once, is in the pod's status, and lasts as long as the pod; detach and attach as you like. In any\n" +
			"other pod, a kubelet's for instance, it is podctl's own: it is removed when it exits or podctl\n" +
			"ends.",
		Flags: slices.Concat(targetFlags(0), []cli.Flag{
			&cli.StringFlag{Name: "image", Usage: "`IMAGE` with the tools, pulled if it is not present"},
			&cli.StringFlag{Name: "target", DefaultText: "none", Usage: "`NAME` of the container whose processes are seen"},
			&cli.StringFlag{Name: "container", Aliases: []string{"c"}, DefaultText: "debugger-…", Usage: "`NAME` of the new container"},
		}, shell.CredentialFlags(), streamFlags()),
		Action: func(c *cli.Context) error {
			o, err := readDebug(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runDebug(ctx, e, o) })
		},
	}
}

func readDebug(c *cli.Context) (o debugOptions, err error) {
	o = debugOptions{Globals: shell.ReadGlobals(c)}
	words := c.Args().Slice()
	var command []string
	if i := slices.Index(words, "--"); i >= 0 {
		words, command = words[:i], words[i+1:]
	}
	if c.String("image") == "" {
		return o, &shell.UsageError{Message: "no image given", Advice: "podctl debug POD --image busybox -it -- sh"}
	}
	if o.streamOptions, err = readStreams(c); err != nil {
		return o, err
	}
	o.container = v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Name: c.String("container"), Image: c.String("image"), Command: command, Stdin: o.stdin, TTY: o.tty,
			ImagePullPolicy: v1.PullIfNotPresent,
		},
		TargetContainerName: c.String("target"),
	}
	if o.container.Name == "" {
		o.container.Name = "debugger-" + strings.ToLower(rand.Text()[:5])
	}
	if o.credentials, err = shell.ReadCredentials(c); err != nil {
		return o, err
	}
	o.query, err = readTarget(c, words)
	o.query.Container = ""
	if err == nil && !o.query.Names() {
		return o, &shell.UsageError{Message: "no pod given", Advice: "podctl debug POD --image busybox -it -- sh; podctl pods lists them"}
	}
	return o, err
}

func runDebug(ctx context.Context, e *shell.Env, o debugOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := debugged(s, o.query)
	if err != nil {
		return err
	}
	local := newLocalStreams(e, s, o.streamOptions)
	o.container.TTY = local.o.tty
	switch {
	case p.Verdict.Process.Elsewhere:
		return fmt.Errorf("pod %s is managed by podctl %q by another endpoint of the runtime; debug it by that", p.DisplayName(), p.Verdict.Process.Name)
	case p.Managed() && o.credentials != credential.Config{}:
		return &shell.UsageError{
			Message: fmt.Sprintf("the podctl process of pod %s pulls the image, with its own credentials", p.DisplayName()),
			Advice:  "podctl pull IMAGE with the options for credentials, before",
		}
	case p.Managed():
		return debugManaged(ctx, p, local, o)
	case p.Runtime == nil:
		return fmt.Errorf("pod %s has no sandbox", p.DisplayName())
	}
	return debugForeign(ctx, p, local, o)
}

// debugged returns the pod that a query names.
func debugged(s *target.Session, q target.Query) (*view.Pod, error) {
	found, err := target.Pods(s.Pods, q)
	switch {
	case err != nil:
		return nil, err
	case len(found) != 1:
		return nil, shell.Usagef("%s match: debug takes one", output.Plural(len(found), "pod"))
	}
	return found[0], nil
}

// debugManaged has the podctl process of the pod add the container, and attaches to it.
func debugManaged(ctx context.Context, p *view.Pod, local *localStreams, o debugOptions) error {
	s, name := local.s, o.container.Name
	if err := debugger.RunManaged(ctx, s.ManagerOf(p), p, o.container); err != nil {
		return err
	}
	if !o.stdin && !o.tty {
		local.note("container %s/%s was started; podctl logs %s/%[2]s shows its output", p.DisplayName(), name, p.CLIName())
		return nil
	}
	now, err := s.Client.ListPod(ctx, p.UID)
	if err != nil {
		return err
	}
	t := target.Target{Pod: p}
	if now != nil {
		for _, c := range now.Containers {
			if c.Name == name {
				t.Container = c
			}
		}
	}
	if err := running(ctx, s, t, local.e.Now()); err != nil {
		return err
	}
	return local.attachTo(ctx, t)
}

// attachTo connects the streams to a container until it exits or the user detaches.
func (l *localStreams) attachTo(ctx context.Context, t target.Target) error {
	url, err := l.s.Client.Attach(ctx, t.Container.ID, cri.Streams{Stdin: l.o.stdin, Stdout: true, Stderr: true, TTY: l.o.tty})
	if err != nil {
		return err
	}
	if l.o.tty && l.o.stdin && len(l.o.detachKeys) > 0 {
		l.note("attached to %s; detach: %s", t.DisplayName(), l.o.detachNames)
	}
	return l.ended(ctx, t, l.run(ctx, url, true))
}
