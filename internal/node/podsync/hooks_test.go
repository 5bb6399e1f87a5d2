package podsync_test

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// hooks is a node on which everything works and nothing is special, but for
// what a test sets.
type hooks struct {
	*eventLog
	published    func(*v1.Pod, v1.PodStatus)
	probes       func(types.UID) pod.ProbeResults
	annotations  func(*v1.Pod) (map[string]string, error)
	handler      string
	sign         error
	features     func(handler string) (podsync.Features, error)
	userIDs      func(types.UID) (first, length uint32, err error)
	resolver     func() (render.DNS, error)
	networkReady func() error
	resized      []*v1.Pod
	unready      []event.Unready
	devices      []string
}

var _ podsync.Host = (*hooks)(nil)

func (h *hooks) Published(p *v1.Pod, s v1.PodStatus) {
	if h.published != nil {
		h.published(p, s)
	}
}

func (h *hooks) Probes(uid types.UID) pod.ProbeResults {
	if h.probes == nil {
		return pod.ProbeResults{}
	}
	return h.probes(uid)
}

func (h *hooks) Unready(types.UID) []event.Unready { return h.unready }

func (h *hooks) Devices(*v1.Pod, string) ([]string, error) { return h.devices, nil }

func (h *hooks) Annotations(p *v1.Pod) (map[string]string, error) {
	if h.annotations == nil {
		return nil, nil
	}
	return h.annotations(p)
}

func (h *hooks) Resized(p *v1.Pod) { h.resized = append(h.resized, p) }

func (h *hooks) Sign(*v1.Pod) error { return h.sign }

func (h *hooks) RuntimeHandler(*v1.Pod) string { return h.handler }

func (h *hooks) Features(_ context.Context, handler string) (podsync.Features, error) {
	if h.features == nil {
		return podsync.Features{}, nil
	}
	return h.features(handler)
}

func (h *hooks) UserIDs(_ context.Context, uid types.UID) (first, length uint32, err error) {
	return h.userIDs(uid)
}

func (h *hooks) Resolver() (render.DNS, error) {
	if h.resolver == nil {
		return render.DNS{}, nil
	}
	return h.resolver()
}

func (h *hooks) NetworkReady(context.Context) error {
	if h.networkReady == nil {
		return nil
	}
	return h.networkReady()
}
