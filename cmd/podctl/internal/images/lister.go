package images

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
)

// imageLister lists the images of a runtime with their users.
type imageLister struct {
	*shell.Session
	env     *shell.Env
	globals shell.Globals
	reader  images.Reader
}

// openImages connects to the runtime and lists nothing.
func openImages(ctx context.Context, e *shell.Env, g shell.Globals) (*imageLister, error) {
	s, err := shell.ConnectSession(ctx, e, g)
	if err != nil {
		return nil, err
	}
	return &imageLister{Session: s, env: e, globals: g}, nil
}

// images returns all images, by name. The specs of pods count where their owners, podctl
// processes or a kubelet, answer. unread is the error of containers that may mount any
// image, nil if there are none.
func (l *imageLister) images(ctx context.Context) (all []*images.Image, unread, err error) {
	all, unreadable, err := l.reader.Read(ctx, l.Client, l.listed)
	if err != nil {
		return nil, nil, err
	}
	l.ReadObjects(ctx, l.Pods)
	var specs []*v1.Pod
	byUID := map[types.UID]*v1.Pod{}
	for _, p := range l.Pods {
		if p.Object != nil {
			specs = append(specs, p.Object)
			byUID[p.UID] = p.Object
		}
	}
	images.AddSpecs(all, specs)
	unreadable = images.AddUnread(all, unreadable, func(uid types.UID) *v1.Pod { return byUID[uid] })
	return all, unreadError(unreadable), nil
}

// unreadError names the containers that may mount any image.
func unreadError(unread []images.Unread) error {
	if len(unread) == 0 {
		return nil
	}
	var names []string
	for _, u := range unread {
		names = append(names, u.DisplayName())
	}
	return fmt.Errorf("what %s mounts is not known: %w", strings.Join(names, ", "), unread[0].Err)
}

// listed lists the runtime and returns its pods.
func (l *imageLister) listed(ctx context.Context) ([]*pod.Pod, error) {
	if err := l.ListOwned(ctx, l.env, l.globals); err != nil {
		return nil, err
	}
	var pods []*pod.Pod
	for _, p := range l.Pods {
		if p.Runtime != nil {
			pods = append(pods, p.Runtime)
		}
	}
	return pods, nil
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
