package images

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
)

// Lister lists the images of a runtime with their users.
type Lister struct {
	*target.Session
	reader Reader
}

// Images returns all images, by name. The specs of pods count where their owners, podctl
// processes or a kubelet, answer. unread is the error of containers that may mount any
// image, nil if there are none.
func (l *Lister) Images(ctx context.Context) (all []*Image, unread, err error) {
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
	AddSpecs(all, specs)
	unreadable = AddUnread(all, unreadable, func(uid types.UID) *v1.Pod { return byUID[uid] })
	return all, unreadError(unreadable), nil
}

// unreadError names the containers that may mount any image.
func unreadError(unread []Unread) error {
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
func (l *Lister) listed(ctx context.Context) ([]*pod.Pod, error) {
	if err := l.List(ctx); err != nil {
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
