package pods

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// psOptions are the options of `podctl ps`.
type psOptions struct {
	shell.Globals
	shell.ListOptions
	query target.Query
	// state is that of --state, "" for those that run or may run, or with all for any.
	state string
	all   bool
	// name is what the container's name has to match, nil for any; image is a word of
	// --image, "" for any.
	name  *regexp.Regexp
	image string
	// quiet prints ids only.
	quiet bool
}

// containerData is one container of `podctl ps -o json`.
type containerData struct {
	Metadata  look.PodMetadata `json:"metadata"`           // of the pod
	Name      string           `json:"name"`               // of the container
	ID        string           `json:"id"`                 // of the container
	Attempt   uint32           `json:"attempt"`            // counted from 0
	State     string           `json:"state"`              // created, running, exited, unknown
	CreatedAt time.Time        `json:"createdAt,omitzero"` // when it was created
	Image     string           `json:"image,omitempty"`    // as it was asked for; else a name of it, or its id
	ImageID   string           `json:"imageID,omitempty"`  // the runtime's
	Sandbox   string           `json:"sandbox"`            // id of its sandbox
	Kind      string           `json:"kind"`               // of the pod's owner: podctl, kubelet, other
	Owner     string           `json:"owner,omitempty"`    // the podctl instance that manages the pod, else the one that created it
	Abandoned bool             `json:"abandoned"`          // that instance has exited
}

// psStates are the values of --state.
var psStates = []string{pod.Created.String(), pod.Running.String(), pod.Exited.String(), pod.Unknown.String()}

func psCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "ps",
		Usage:       "list containers: state, attempt, owner, age, image, id",
		Args:        cmdline.Args{Of: cmdline.Target, Many: true, Optional: true, Patterns: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodeList,
		Data:        []any{containerData{}, look.PodMetadata{}},
		FlagHints: map[string]string{
			"id": "podctl ps ID", "label": "--selector", "latest": newestFirst, "last": newestFirst, "resolve-image-path": "podctl ps shows images by name",
		},
		Description: "Lists the containers of the runtime that run, and those whose state it does not know, which may\n" +
			"run; with --all also those that were created or have exited, each attempt. AGE is the time since\n" +
			"the container was created, OWNER as in podctl pods. An image that the runtime reports by its id is\n" +
			"shown by its name if it is still there. --quiet prints whole ids.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(append(podFilterFlags(), shell.ListFlags()...),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "containers of every state"},
			&cli.StringFlag{Name: "state", Aliases: []string{"s"}, DefaultText: "running or unknown", Usage: "only containers in this `STATE`: " + strings.Join(psStates, ", ")},
			&cli.StringSliceFlag{Name: "pod", Aliases: []string{"p"}, DefaultText: "all", Usage: "only containers of this `POD`: [NAMESPACE/]POD or an id"},
			&cli.StringFlag{Name: "name", DefaultText: "all", Usage: "only containers whose name matches this `REGEXP`"},
			&cli.StringFlag{Name: "image", DefaultText: "all", Usage: "only containers of this `IMAGE`: a name, with or without registry and tag, a pattern or an id"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print ids only"},
		),
		Action: func(c *cli.Context) error {
			o, err := readPs(c)
			if err != nil {
				return err
			}
			return runPs(c.Context, e, o)
		},
	}
}

// newestFirst is what podctl has in place of --latest and --last of crictl.
const newestFirst = "--sort-by .createdAt"

func readPs(c *cli.Context) (o psOptions, err error) {
	o = psOptions{Globals: shell.ReadGlobals(c), state: strings.ToLower(c.String("state")), all: c.Bool("all"), image: c.String("image"), quiet: c.Bool("quiet")}
	o.query = target.Query{
		Words: append(c.Args().Slice(), c.StringSlice("pod")...), Namespace: c.String("namespace"), AllNamespaces: c.Bool("all-namespaces"), AllContainers: true,
	}
	if o.query.Selector, err = shell.ReadSelector(c); err != nil {
		return o, err
	}
	if o.state != "" && !slices.Contains(psStates, o.state) {
		return o, shell.Usagef("--state %q: want %s", c.String("state"), strings.Join(psStates, ", "))
	}
	if o.name, err = regexp.Compile(c.String("name")); err != nil {
		return o, shell.Usagef("--name: %v", err)
	}
	if o.ListOptions, err = shell.ReadList(c); err != nil {
		return o, err
	}
	if o.quiet && o.Output != "" {
		return o, &shell.UsageError{Message: "--quiet and --output exclude each other", Advice: "-o name prints names"}
	}
	if o.quiet {
		o.Format, err = shell.ReadFormat("jsonpath={range [*]}{.id}{\"\\n\"}{end}")
	}
	return o, err
}

func runPs(ctx context.Context, e *shell.Env, o psOptions) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		s, err := shell.OpenSession(ctx, e, o.Globals)
		if err != nil {
			return err
		}
		defer s.Close()
		l := &containerLister{env: e, opts: o, session: s}
		return o.Show(ctx, e, "no containers", l.list)
	})
}

// containerLister lists the containers of a runtime.
type containerLister struct {
	env     *shell.Env
	opts    psOptions
	session *target.Session
	// listed: the session's list was shown.
	listed bool
	// warned is the last warning about images.
	warned string
}

// listedContainer is a container and its pod. image is its image, nil if that is not known.
type listedContainer struct {
	*pod.Container
	pod   *view.Pod
	image *images.Image
}

func (l *containerLister) list(ctx context.Context) (output.List, error) {
	if l.listed {
		if err := l.session.List(ctx); err != nil {
			return output.List{}, err
		}
	}
	l.listed = true
	selected, err := l.opts.named(l.session.Pods)
	if l.opts.Watch {
		err = nil // a watched pod may not exist yet
	}
	selected = slices.DeleteFunc(selected, func(c *listedContainer) bool { return !l.opts.selects(c) })
	l.readImages(ctx, selected)
	selected = slices.DeleteFunc(selected, func(c *listedContainer) bool { return !c.isOf(l.opts.image) })
	return l.listing(selected), err
}

// named returns the containers that the words name, every one without words.
func (o psOptions) named(all []*view.Pod) ([]*listedContainer, error) {
	var found []*listedContainer
	add := func(p *view.Pod, c *pod.Container) {
		if !slices.ContainsFunc(found, func(f *listedContainer) bool { return f.ID == c.ID }) {
			found = append(found, &listedContainer{Container: c, pod: p})
		}
	}
	if len(o.query.Words) == 0 {
		filter := view.Filter{Selector: o.query.Selector}
		if !o.query.AllNamespaces {
			filter.Namespace = o.query.Namespace
		}
		for _, p := range all {
			if !filter.Selects(p) {
				continue
			}
			for _, c := range p.ListedContainers() {
				found = append(found, &listedContainer{Container: c, pod: p})
			}
		}
		return found, nil
	}
	targets, err := target.Containers(all, o.query)
	for _, t := range targets {
		switch {
		case t.Container == nil:
		case slices.ContainsFunc(o.query.Words, func(word string) bool { return target.IsID(word) && strings.HasPrefix(t.Container.ID, word) }):
			add(t.Pod, t.Container)
		default:
			for _, c := range target.Attempts(t.Pod, t.Container.Name) {
				add(t.Pod, c)
			}
		}
	}
	return found, err
}

// selects reports whether the container has the state and the name that are asked for.
func (o psOptions) selects(c *listedContainer) bool {
	switch {
	case !o.name.MatchString(c.Name):
		return false
	case o.state != "":
		return c.State.String() == o.state
	}
	return o.all || c.State == pod.Running || c.State == pod.Unknown
}

// readImages sets the images of the containers where a name of theirs is not known.
func (l *containerLister) readImages(ctx context.Context, selected []*listedContainer) {
	if l.opts.image == "" && !slices.ContainsFunc(selected, func(c *listedContainer) bool { return c.imageIsID() }) {
		return
	}
	held, err := l.session.Client.ListImages(ctx)
	if err != nil {
		l.env.WarnOnce(&l.warned, fmt.Errorf("names of images are not known: %w", err))
	}
	byID := map[string]*images.Image{}
	for _, i := range held {
		byID[i.ID] = &images.Image{Image: *i}
	}
	for _, c := range selected {
		c.image = cmp.Or(byID[c.ImageID], byID[c.Image])
	}
}

// imageIsID reports whether the runtime names the image by an id.
func (c *listedContainer) imageIsID() bool {
	return c.Image == "" || c.Image == c.ImageID || strings.HasPrefix(c.Image, "sha256:") || len(c.Image) == 64 && target.IsID(c.Image)
}

// imageName returns the image as it was asked for, else by its name, else its id.
func (c *listedContainer) imageName() string {
	switch {
	case !c.imageIsID():
		return c.Image
	case c.image != nil && len(c.image.RepoTags)+len(c.image.RepoDigests) > 0:
		return c.image.Name()
	}
	return cmp.Or(c.Image, c.ImageID)
}

// isOf reports whether a word stands for the container's image, "" for any.
func (c *listedContainer) isOf(word string) bool {
	if word == "" {
		return true
	}
	known := []*images.Image{{Image: pod.Image{ID: c.ImageID, RepoTags: []string{c.Image}}}}
	if c.image != nil {
		known = append(known, c.image)
	}
	found, _ := images.Select(known, []string{word})
	return len(found) > 0
}

func (l *containerLister) listing(selected []*listedContainer) output.List {
	list := output.List{
		Header: []string{"POD", "CONTAINER", "STATE", "ATTEMPT", "OWNER", "AGE", "IMAGE", "ID"},
		Wide:   []string{"IMAGE ID", "SANDBOX", "UID"},
	}
	short := func(id string) string {
		if id = strings.TrimPrefix(id, "sha256:"); l.opts.NoTrunc {
			return cmp.Or(id, "-")
		}
		return cmp.Or(pod.ShortID(id), "-")
	}
	for _, c := range selected {
		p := c.pod
		d := containerData{
			Metadata: look.MetadataOf(p), Name: c.Name, ID: c.ID, Attempt: c.Attempt, State: c.State.String(), CreatedAt: c.CreatedAt, Image: c.imageName(), ImageID: c.ImageID,
			Sandbox: c.SandboxID, Kind: string(p.Kind()), Owner: p.Instance(), Abandoned: !p.Managed() && p.Abandoned(),
		}
		d.Metadata.Labels = p.SandboxLabels()
		image := d.Image
		if c.imageIsID() && image == cmp.Or(c.Image, c.ImageID) {
			image = short(image)
		}
		age := "-"
		if !c.CreatedAt.IsZero() {
			age = output.Age(l.env.Now().Sub(c.CreatedAt))
		}
		list.Items = append(list.Items, output.Item{
			Name: c.cliName(), Data: d,
			Cells: []string{p.DisplayName(), c.Name, d.State, fmt.Sprint(c.Attempt), ownerText(p), age, image, short(c.ID)},
			Wide:  []string{short(c.ImageID), short(c.SandboxID), string(p.UID)},
		})
	}
	return list
}

// cliName is what selects the container on a command line, and no other attempt of it.
func (c *listedContainer) cliName() string {
	name := c.pod.ContainerCLIName(c.Container)
	if newest := target.Attempts(c.pod, c.Name)[0]; newest != c.Container || !strings.HasSuffix(name, "/"+c.Name) {
		return c.ID
	}
	return name
}
