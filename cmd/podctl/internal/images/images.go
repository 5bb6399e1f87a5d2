package images

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
)

// imagesOptions are the options of `podctl images`.
type imagesOptions struct {
	shell.Globals
	shell.ListOptions
	words           []string
	unused, digests bool
}

// imagesCommand is `podctl images`.
func imagesCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "images",
		Usage:       "list the images of the runtime: names, size, and which pods use them",
		Args:        cmdline.Args{Of: cmdline.StoredImage, Many: true, Optional: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodeList,
		Aliases:     []string{"img", "get images", "image ls", "image list"},
		Data:        []any{imageData{}, imageUser{}},
		Description: "A name without a tag stands for all tags of the repository. SIZE is the runtime's: layers\n" +
			"that images share count for each of them, because the CRI does not report layers. USED BY names\n" +
			"the pods with a container of the image or an image volume, and those whose spec names it, and\n" +
			"containers that another client has in containerd's namespace k8s.io; the number in brackets\n" +
			"counts containers. (pinned) marks images that the runtime asks to keep.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(shell.ListFlags(),
			&cli.BoolFlag{Name: "unused", Usage: "only images that podctl prune would remove"},
			&cli.BoolFlag{Name: "digests", Usage: "show digests"},
		),
		Action: func(c *cli.Context) error {
			o := imagesOptions{Globals: shell.ReadGlobals(c), words: c.Args().Slice(), unused: c.Bool("unused"), digests: c.Bool("digests")}
			var err error
			if o.ListOptions, err = shell.ReadList(c); err != nil {
				return err
			}
			return o.UntilInterrupted(c.Context, e, func(ctx context.Context) error { return runImages(ctx, e, o) })
		},
	}
}

func runImages(ctx context.Context, e *shell.Env, o imagesOptions) error {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	l, warned := &images.Lister{Session: s}, ""
	return o.Show(ctx, e, "no images", func(ctx context.Context) (output.List, error) {
		all, unread, err := l.Images(ctx)
		if err != nil {
			return output.List{}, err
		}
		e.WarnOnce(&warned, unread)
		selected, err := images.Select(all, o.words)
		if o.unused {
			selected = slices.DeleteFunc(slices.Clone(selected), func(i *images.Image) bool { return !i.Unused() })
		}
		return o.listing(selected), err
	})
}

// imageData is one image of `podctl images -o json`.
type imageData struct {
	ID          string      `json:"id"`                    // of the runtime
	RepoTags    []string    `json:"repoTags,omitempty"`    // names with a tag
	RepoDigests []string    `json:"repoDigests,omitempty"` // names with a digest
	Size        uint64      `json:"size"`                  // bytes, as the runtime reports them; shared layers count
	Pinned      bool        `json:"pinned"`                // the runtime asks to keep it, or sandboxes are made of it
	User        string      `json:"user,omitempty"`        // that it names
	UID         *int64      `json:"uid,omitempty"`         // that it names
	UsedBy      []imageUser `json:"usedBy"`                // [] if nothing is known to use it
	MaybeUsedBy []imageUser `json:"maybeUsedBy,omitempty"` // containers that may mount it: what they mount could not be read
}

// imageUser is a container or a pod that uses an image.
type imageUser struct {
	Namespace string `json:"namespace"`           // of the pod, "" for a container of no pod: ctr, nerdctl -n k8s.io
	Pod       string `json:"pod"`                 // its name
	Container string `json:"container,omitempty"` // missing if only the pod's spec names the image
	ID        string `json:"id,omitempty"`        // of the container
	State     string `json:"state,omitempty"`     // created, running, exited, unknown
	Volume    bool   `json:"volume"`              // it is a volume, not what the container is made of
}

func newImageData(i *images.Image) imageData {
	d := imageData{ID: i.ID, RepoTags: i.RepoTags, RepoDigests: i.RepoDigests, Size: i.Size, Pinned: i.Pinned, User: i.Username, UID: i.UID, UsedBy: []imageUser{}}
	for _, u := range i.Uses {
		d.UsedBy = append(d.UsedBy, newImageUser(u))
	}
	for _, u := range i.Unread {
		u.Volume = true
		d.MaybeUsedBy = append(d.MaybeUsedBy, newImageUser(u.Use))
	}
	return d
}

func newImageUser(u images.Use) imageUser {
	user := imageUser{Namespace: u.Namespace, Pod: u.Pod, Container: u.Container, ID: u.ID, Volume: u.Volume}
	if u.ID != "" {
		user.State = u.State.String()
	}
	return user
}

func (o imagesOptions) listing(selected []*images.Image) output.List {
	l := output.List{Header: []string{"IMAGE", "ID", "SIZE", "USED BY"}, Wide: []string{"DIGESTS", "USER"}}
	if o.digests {
		l.Header = []string{"IMAGE", "ID", "DIGESTS", "SIZE", "USED BY"}
	}
	for _, i := range selected {
		digests := digestsText(i)
		cells := []string{namesText(i), shortImageID(i.ID, o.NoTrunc), usage.Size(i.Size), usedBy(i)}
		if o.digests {
			cells = slices.Insert(cells, 2, digests)
		}
		l.Items = append(l.Items, output.Item{Name: i.Name(), Data: newImageData(i), Cells: cells, Wide: []string{digests, userText(&i.Image)}})
	}
	return l
}

// namesText are the names of an image, <none> if it has no tag.
func namesText(i *images.Image) string {
	if len(i.RepoTags) == 0 {
		if len(i.RepoDigests) == 0 {
			return "<none>"
		}
		repository, _, _ := strings.Cut(i.RepoDigests[0], "@")
		return repository + ":<none>"
	}
	return strings.Join(i.RepoTags, ", ")
}

func digestsText(i *images.Image) string {
	var digests []string
	for _, name := range i.RepoDigests {
		_, digest, _ := strings.Cut(name, "@")
		if !slices.Contains(digests, digest) {
			digests = append(digests, digest)
		}
	}
	if len(digests) == 0 {
		return "-"
	}
	return strings.Join(digests, ", ")
}

func userText(i *pod.Image) string {
	if i.UID != nil {
		return strconv.FormatInt(*i.UID, 10)
	}
	if i.Username != "" {
		return i.Username
	}
	return "-"
}

func usedBy(i *images.Image) string {
	text := usersText(i.Uses)
	switch {
	case i.Pinned && text == "":
		return "(pinned)"
	case i.Pinned:
		return text + " (pinned)"
	case i.MayBeUnused():
		return "unknown"
	case text == "":
		return "-"
	}
	return text
}

// shortImageID is an image's id, truncated as crictl does unless full is set.
func shortImageID(id string, full bool) string {
	if full {
		return id
	}
	return pod.ShortID(strings.TrimPrefix(id, "sha256:"))
}

// usersText names the pods, and the containers of no pod, that use an image, each once.
func usersText(uses []images.Use) string {
	var names []string
	counts := map[string]int{}
	for _, u := range uses {
		name := u.User()
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for n, name := range names {
		if counts[name] > 1 {
			names[n] = fmt.Sprintf("%s (%d)", name, counts[name])
		}
	}
	return strings.Join(names, ", ")
}
