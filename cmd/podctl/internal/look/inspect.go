package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// inspectOptions are the options of `podctl inspect`.
type inspectOptions struct {
	shell.Globals
	target.Query
	format      output.Format
	showSecrets bool
	// masked is called with the values that were masked, nil if they are not needed.
	masked func(values [][]byte)
}

// inspectCommand returns the command that prints what the runtime answers about pods.
func inspectCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "inspect",
		Usage:       "print the runtime's verbose status of a pod's sandbox and containers",
		Args:        cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodePage,
		Aliases:     []string{"inspectp"},
		Data:        []any{inspection{}, inspectMetadata{}},
		Description: "Prints, as JSON, what the runtime answers with its verbose status calls about the sandbox and the\n" +
			"newest attempt of each container, or the attempts that --attempt or --previous choose. One\n" +
			"target is printed as an object, several as an array. Values of environment variables from\n" +
			"Secrets, or with names such as PASSWORD and TOKEN, are masked, and podctl's copy of the manifest;\n" +
			"arguments of commands are not.\n" +
			"-o is json (default), yaml, name, jsonpath=TEMPLATE, go-template=TEMPLATE or custom-columns=SPEC.",
		Flags: append(targetFlags(bySelector|byContainer|byAttempt),
			&cli.BoolFlag{Name: "show-secrets", Usage: "do not mask values that may be secrets"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o, err := readInspect(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runInspect(ctx, e, o) })
		},
	}
}

func readInspect(c *cli.Context) (o inspectOptions, err error) {
	o = inspectOptions{Globals: shell.ReadGlobals(c), showSecrets: c.Bool("show-secrets")}
	if o.Output == "" {
		o.Output = "json"
	}
	if o.format, err = shell.ReadFormat(o.Output); err != nil {
		return o, err
	}
	o.format.NoHeaders = c.Bool("no-headers")
	if o.format.IsTable() {
		return o, &shell.UsageError{Message: fmt.Sprintf("--output %q: inspect prints data", o.Output), Advice: "podctl describe prints a page"}
	}
	o.Query, err = needTarget(c, c.Args().Slice())
	return o, err
}

// inspection is one pod of `podctl inspect`.
type inspection struct {
	Metadata   inspectMetadata  `json:"metadata"`   // of the pod
	Sandboxes  []map[string]any `json:"sandboxes"`  // of the containers, newest first: status, and info as the runtime has it
	Containers []map[string]any `json:"containers"` // status, and info as the runtime has it
}

// inspectMetadata is the identity of an inspected pod.
type inspectMetadata struct {
	Namespace string `json:"namespace"` // of the pod
	Name      string `json:"name"`      // of the pod
	UID       string `json:"uid"`       // of the pod
}

func runInspect(ctx context.Context, e *shell.Env, o inspectOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	o.format.Width = e.TableWidth(o.NoTrunc)
	o.AllContainers = o.Container == ""
	s.ReadPrevious(ctx, o.Query)
	found, wrong := target.Containers(s.Pods, o.Query)
	items, err := inspectPods(ctx, s, o, found)
	if err != nil {
		return err
	}
	switch {
	case len(items) == 0:
		return wrong
	case len(items) == 1 && o.isOne():
		err = o.format.PrintObject(e.Out, nil, items[0])
	default:
		err = o.format.Print(e.Out, output.List{Items: items})
	}
	return errors.Join(err, wrong)
}

// isOne reports whether the query can only stand for one pod.
func (o inspectOptions) isOne() bool {
	words := strings.Join(o.Words, " ")
	return o.Selector == nil && !o.AllNamespaces && !strings.ContainsAny(words, `*?[\`) &&
		(len(o.Words) == 1 || len(o.Words) == 2 && pod.IsPodKind(o.Words[0]))
}

// inspectPods asks the runtime about the containers, pod by pod.
func inspectPods(ctx context.Context, s *target.Session, o inspectOptions, found []target.Target) ([]output.Item, error) {
	var pods []*view.Pod
	byPod := map[types.UID][]*pod.Container{}
	for _, t := range found {
		if !slices.Contains(pods, t.Pod) {
			pods = append(pods, t.Pod)
		}
		if t.Container != nil {
			byPod[t.Pod.UID] = append(byPod[t.Pod.UID], t.Container)
		}
	}
	if !o.showSecrets {
		s.ReadObjects(ctx, pods)
	}
	var items []output.Item
	for _, p := range pods {
		d := inspection{
			Metadata:  inspectMetadata{p.Namespace, p.Name, string(p.UID)},
			Sandboxes: []map[string]any{}, Containers: []map[string]any{},
		}
		for _, sandbox := range sandboxesOf(p, byPod[p.UID]) {
			raw, err := o.raw(ctx, s.Client.RawSandbox, sandbox, nil)
			if err != nil {
				return nil, err
			}
			d.Sandboxes = appendRaw(d.Sandboxes, raw)
		}
		for _, c := range byPod[p.UID] {
			raw, err := o.raw(ctx, s.Client.RawContainer, c.ID, specOf(p, c.Name))
			if err != nil {
				return nil, err
			}
			d.Containers = appendRaw(d.Containers, raw)
		}
		items = append(items, output.Item{Name: p.CLIName(), Data: d})
	}
	return items, nil
}

func appendRaw(list []map[string]any, raw any) []map[string]any {
	if fields, ok := raw.(map[string]any); ok {
		return append(list, fields)
	}
	return list // it is gone
}

// raw asks the runtime, and masks the answer; nil if the object is gone.
func (o inspectOptions) raw(ctx context.Context, ask func(context.Context, string) (map[string]any, error), id string, spec *v1.Container) (any, error) {
	answer, err := ask(ctx, id)
	switch {
	case errors.Is(err, cri.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case o.showSecrets:
		return answer, nil
	}
	masked, values := secret.AnswerAndValues(answer, secret.NamesOf(spec))
	if o.masked != nil {
		o.masked(values)
	}
	return masked, nil
}

// InspectAll is what `podctl inspect` prints of pods, all without words, and the secret values
// that are known of any pod.
func InspectAll(ctx context.Context, e *shell.Env, g shell.Globals, words []string) (items []output.Item, values [][]byte, err error) {
	s, err := shell.OpenSession(ctx, e, g)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	o := inspectOptions{Globals: g, masked: func(found [][]byte) { values = append(values, found...) }}
	o.Query = target.Query{Words: words, AllNamespaces: len(words) == 0, AllContainers: true}
	found, wrong := target.Containers(s.Pods, o.Query)
	s.ReadSpecs(ctx, s.Pods)
	for _, p := range s.Pods {
		if p.Object != nil {
			values = append(values, secret.Variables(p.Object)...)
		}
	}
	errs := []error{wrong}
	for len(found) > 0 && ctx.Err() == nil {
		end := slices.IndexFunc(found, func(t target.Target) bool { return t.Pod != found[0].Pod })
		if end < 0 {
			end = len(found)
		}
		of, err := inspectPods(ctx, s, o, found[:end])
		items, errs, found = append(items, of...), append(errs, err), found[end:]
	}
	return items, values, errors.Join(errs...)
}

// sandboxesOf returns the ids of the sandboxes of containers; of a pod without
// containers, that of the newest sandbox.
func sandboxesOf(p *view.Pod, containers []*pod.Container) []string {
	if p.Runtime == nil {
		return nil
	}
	var ids []string
	for i, sandbox := range p.Runtime.Sandboxes {
		used := slices.ContainsFunc(containers, func(c *pod.Container) bool { return c.SandboxID == sandbox.ID })
		if used || i == 0 && len(containers) == 0 {
			ids = append(ids, sandbox.ID)
		}
	}
	return ids
}

// specOf returns a container of the pod's spec, nil if it is not known.
func specOf(p *view.Pod, name string) *v1.Container {
	if p.Object == nil {
		return nil
	}
	for c := range pod.Containers(p.Object) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
