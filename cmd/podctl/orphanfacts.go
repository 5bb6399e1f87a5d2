package main

import (
	"context"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// orphanFinder looks for orphans, as often as it is asked.
type orphanFinder struct {
	env     *env
	opts    orphansOptions
	client  *cri.Client
	paths   host.Paths
	cluster *desired.Cluster
	// self is the instance that claims the names of pods to be ended, which makes
	// them nobody's; "" if there is none.
	self string
}

// look asks all sources. The order keeps a pod that is made meanwhile from being
// taken for an orphan: directories and the runtime are listed before anybody is
// asked what is desired.
func (f *orphanFinder) look(ctx context.Context) (*orphanView, error) {
	dirs, err := f.listDirs()
	if err != nil {
		return nil, err
	}
	listed, err := f.client.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	v := &orphanView{}
	v.kubelet, v.kubeletErr = kubelet.Find(f.client.Endpoint().Runtime)
	live, err := f.askAll(ctx, v)
	if err != nil {
		return nil, err
	}
	v.held = mergePods(listed, live, aliveBut(f.paths.Locks, f.self))
	for _, s := range v.sources {
		v.answers = append(v.answers, s.Answer)
	}
	f.judgeDirs(ctx, v, dirs)
	v.ended, err = f.endings(v)
	return v, err
}

// aliveBut tells whether a living podctl other than self answers for a pod that
// a podctl created and none shows. What cannot be told is alive.
func aliveBut(dir, self string) func(*heldPod) bool {
	return func(p *heldPod) bool {
		if alive, err := owner.Alive(dir, p.creator); alive || err != nil {
			return true
		}
		who, held, err := owner.Holder(dir, pod.FullName(p.name, p.namespace))
		return held && (self == "" || who != self) || err != nil
	}
}

// askAll asks all sources at the same time, and returns what the podctls of this
// runtime say of their pods.
func (f *orphanFinder) askAll(ctx context.Context, v *orphanView) ([]liveWorkers, error) {
	clients, err := control.Find(f.paths.Locks, f.env.dial)
	if err != nil {
		return nil, err
	}
	asks := f.questions(ctx, v.kubelet)
	answers := make([]askedSource, len(asks))
	var asking sync.WaitGroup
	for i, ask := range asks {
		asking.Go(func() { answers[i] = ask() })
	}
	live := askWorkers(ctx, clients)
	asking.Wait()
	for _, l := range live {
		v.sources = append(v.sources, askedSource{Answer: workersAnswer(l), kind: fromPodctl})
	}
	v.sources = append(v.sources, answers...)
	if dir := f.staticPods(v); dir != "" {
		v.sources = append(v.sources, askedSource{
			Answer: desired.Static(dir, f.nodeName(v.kubelet)), kind: fromStatic, named: f.opts.staticPods != "",
		})
	}
	return live, ctx.Err()
}

// questions are what to ask beside podctls and the static pod directory. A
// kubelet that is here is asked where it may answer anybody, unless the user
// knows better.
func (f *orphanFinder) questions(ctx context.Context, near *kubelet.Near) []func() askedSource {
	var asks []func() askedSource
	for _, path := range f.opts.desired {
		asks = append(asks, func() askedSource {
			return askedSource{Answer: desired.Files(ctx, nil, path), kind: fromFile, named: true}
		})
	}
	at := f.opts.kubelet
	if near != nil && !f.opts.askKubelet {
		at = kubelet.Options{URL: near.ReadOnly}
	}
	if near != nil || f.opts.askKubelet {
		asks = append(asks, func() askedSource {
			return askedSource{Answer: desired.Kubelet(ctx, at), kind: fromKubelet, named: f.opts.askKubelet}
		})
	}
	if f.cluster != nil {
		asks = append(asks, func() askedSource {
			return askedSource{Answer: f.cluster.Pods(ctx), kind: fromCluster, named: true}
		})
	}
	return asks
}

// staticPods is the directory to read, "" for none. A kubelet that answered has
// named its static pods, and with their UIDs.
func (f *orphanFinder) staticPods(v *orphanView) string {
	switch {
	case f.opts.staticPods != "":
		return f.opts.staticPods
	case v.kubelet == nil || v.read(fromKubelet):
		return ""
	}
	return v.kubelet.StaticPods
}

// askWorkers asks podctls for their pods, all at the same time.
func askWorkers(ctx context.Context, clients []*control.Client) []liveWorkers {
	live := make([]liveWorkers, len(clients))
	var asking sync.WaitGroup
	for i, c := range clients {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			live[i].client = c
			live[i].workers, live[i].err = c.Workers(ctx)
		})
	}
	asking.Wait()
	return live
}

// endings says when the podctls died that made what is there.
func (f *orphanFinder) endings(v *orphanView) (map[string]time.Time, error) {
	names := map[string]bool{}
	for _, h := range v.held {
		names[h.creator] = true
	}
	for _, d := range v.dirs {
		names[d.instance] = true
	}
	ended := map[string]time.Time{}
	for name := range names {
		if name == "" {
			continue
		}
		at, err := owner.LastBeat(f.paths.Locks, name)
		if err != nil {
			return nil, err
		}
		if !at.IsZero() {
			ended[name] = at
		}
	}
	return ended, nil
}
