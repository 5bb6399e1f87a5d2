package look

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/credential"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/debugger"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// A Copied is a pod to run in the foreground: a copy that `podctl debug --copy-to` made.
type Copied struct {
	shell.Globals
	Manifest      []byte
	BesideKubelet bool
	// Credentials are those of registries.
	Credentials credential.Config
}

// copyFlags are the flags of readCopy.
func copyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "copy-to", DefaultText: "none", Usage: "run a copy of the pod with this `NAME` instead, until it ends or Ctrl-C; -o yaml prints it"},
		&cli.StringSliceFlag{Name: "set-image", Usage: "with --copy-to, the image of a container of the copy, `CONTAINER=IMAGE`, * for all; repeatable"},
		&cli.BoolFlag{Name: "share-processes", DefaultText: "true", Usage: "with --copy-to, whether the containers of the copy see each other's processes"},
		&cli.BoolFlag{Name: "keep-labels", Usage: "with --copy-to, keep the pod's labels"},
		&cli.BoolFlag{Name: "beside-kubelet", Usage: "with --copy-to, run the copy even if a kubelet uses this runtime"},
	}
}

// readCopy reads what the flags of copyFlags say; nil without --copy-to. container is
// what readDebug made of the others.
func readCopy(c *cli.Context, container *v1.EphemeralContainer) (*debugger.CopyOptions, error) {
	o := &debugger.CopyOptions{
		Name: c.String("copy-to"), Container: container.Name, Image: container.Image, Command: container.Command,
		KeepLabels: c.Bool("keep-labels"),
	}
	if !c.IsSet("copy-to") {
		for _, name := range []string{"set-image", "share-processes", "keep-labels", "beside-kubelet"} {
			if c.IsSet(name) {
				return nil, shell.Usagef("--%s needs --copy-to", name)
			}
		}
		return nil, nil
	}
	if c.IsSet("share-processes") {
		o.ShareProcesses = new(c.Bool("share-processes"))
	}
	for _, value := range c.StringSlice("set-image") {
		name, image, ok := strings.Cut(value, "=")
		if !ok || name == "" || image == "" {
			return nil, shell.Usagef("--set-image %q is not CONTAINER=IMAGE", value)
		}
		if o.Images == nil {
			o.Images = map[string]string{}
		}
		o.Images[name] = image
	}
	if o.Image == "" && o.Command == nil && !c.IsSet("container") {
		o.Container = "" // only images change
	}
	switch {
	case o.Name == "":
		return nil, shell.Usagef("--copy-to is empty")
	case container.TargetContainerName != "":
		return nil, &shell.UsageError{Message: "--target and --copy-to exclude each other", Advice: "the containers of a copy share their processes: --share-processes"}
	case container.Stdin || container.TTY:
		return nil, &shell.UsageError{
			Message: "--stdin and --tty do not go with --copy-to: the copy runs in the foreground",
			Advice:  fmt.Sprintf("podctl exec -it %s -- sh, in another terminal", o.Name),
		}
	case o.Image == "" && len(o.Images) == 0 && len(o.Command) == 0:
		return nil, &shell.UsageError{Message: "nothing to change in the copy", Advice: "--image, --set-image, or -c CONTAINER -- COMMAND"}
	case o.Image == "" && len(o.Command) > 0 && !c.IsSet("container"):
		return nil, &shell.UsageError{Message: "no container given for the command", Advice: "-c CONTAINER, or --image for a new one"}
	}
	return o, nil
}

// runCopy prints the copy of a pod, or runs it.
func runCopy(c *cli.Context, e *shell.Env, o debugOptions, run func(context.Context, *shell.Env, Copied) error) error {
	var copied map[string]any
	err := e.UntilInterrupted(c.Context, func(ctx context.Context) (err error) {
		copied, err = copyPod(ctx, e, o)
		return err
	})
	switch {
	case err != nil:
		return err
	case !o.format.IsTable():
		return o.format.PrintObject(e.Out, nil, output.Item{Name: o.copied.Name, Data: copied})
	}
	text, err := json.Marshal(copied)
	if err != nil {
		return err
	}
	return run(c.Context, e, Copied{Globals: o.Globals, Manifest: text, BesideKubelet: c.Bool("beside-kubelet"), Credentials: o.credentials})
}

// copyPod returns the manifest of the copy.
func copyPod(ctx context.Context, e *shell.Env, o debugOptions) (map[string]any, error) {
	s, err := open(ctx, e, o.Globals)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := s.debugged(o.query)
	if err != nil {
		return nil, err
	}
	for _, other := range s.Pods {
		if other.Namespace == p.Namespace && other.Name == o.copied.Name {
			return nil, fmt.Errorf("pod %s exists already", other.DisplayName())
		}
	}
	object, err := s.manifestOf(ctx, p)
	if err != nil {
		return nil, err
	}
	copied, err := debugger.Copy(object, *o.copied)
	if err != nil {
		return nil, err
	}
	if name := o.copied.Container; name != "" && o.format.IsTable() && !o.quiet {
		fmt.Fprintf(e.Errw, "in another terminal: podctl exec -it %s/%s -- sh\n", pod.DisplayName(copied.Namespace, copied.Name), name)
	}
	return withoutStatus(copied)
}

// manifestOf returns the pod as its owner shows it, else as the manifest says that
// podctl has left in the runtime.
func (s *session) manifestOf(ctx context.Context, p *view.Pod) (*v1.Pod, error) {
	if s.ReadObjects(ctx, []*view.Pod{p}); p.Object != nil {
		return p.Object, nil
	}
	if p.SandboxID() == "" {
		return nil, noManifest(p)
	}
	object, err := s.leftManifest(ctx, p)
	if err == nil && object == nil {
		err = noManifest(p)
	}
	return object, err
}

// withoutStatus returns a pod as a manifest has it.
func withoutStatus(p *v1.Pod) (map[string]any, error) {
	read, err := output.Generic(p)
	fields, _ := read.(map[string]any)
	delete(fields, "status")
	return fields, err
}

// noManifest returns the error for a pod of which no manifest is known.
func noManifest(p *view.Pod) error {
	advice := "podctl inspect shows what the runtime knows of it"
	if p.Kind() == view.KindKubelet {
		advice = "its kubelet does not name it, or does not answer: podctl doctor"
	}
	return hint.Errorf(advice, "no manifest of pod %s is known", p.DisplayName())
}
