package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/services"
)

// newServices returns what serves the Services of the session's sources.
func (s *Session) newServices(p host.Paths) *services.Manager {
	o := services.Options{Range: s.opts.ServiceRange, Node: s.Facts.Name, Log: s.opts.Log, Pods: s.servicePods, Warn: s.opts.WarnServices}
	switch {
	case !o.Range.IsValid():
		o.Range, o.Unserved, o.Warn = services.DefaultRange, "--service-cidr is none", func(error) {}
	case s.Client.IsSimulated():
		o.Unserved = "the pods of a simulated runtime have no network: podctl services shows what would be served"
	default:
		o.Backend = services.NewHost(o.Range, s.resolvers, s.opts.Log)
	}
	runDir, own := filepath.Dir(p.Locks), control.Path(p.Locks, s.opts.Instance)
	o.Peers = func() (map[string]services.Process, error) {
		clients, err := FindPeers(runDir, own)
		all := map[string]services.Process{}
		for socket, c := range clients {
			all[socket] = services.Process{Name: c.Instance(), Ask: c.Services}
		}
		return all, err
	}
	o.Instance, o.Socket, o.State = s.opts.Instance, own, services.StateFile(runDir)
	o.Settled = func() bool { return s.Node.Settled() }
	var closing atomic.Bool // the node has ended: what it listed last is old
	o.Running = func() map[types.UID]bool {
		if closing.Load() {
			return s.listRunning()
		}
		return s.runningPods()
	}
	m := services.NewManager(o)
	s.onClose(func() error {
		closing.Store(true)
		return m.Close(s.Node != nil && s.Alive() > 0)
	})
	return m
}

// resolvers are the node's, without the DNS server of Services.
func (s *Session) resolvers() []string {
	dns, err := s.opts.Resolver.Read(s.Facts.IPs)
	if err != nil {
		s.opts.Log.Warn("no resolver for names that are no Service's", "err", err)
	}
	var all []string
	for _, address := range dns.Servers {
		if address != services.DNSAddress {
			all = append(all, net.JoinHostPort(address, "53"))
		}
	}
	return all
}

// servicePods are the pods of this process, as Services see them.
func (s *Session) servicePods() []*v1.Pod {
	pods := []*v1.Pod{}
	for _, i := range s.Node.Pods() {
		p := servedPod(i)
		pods = append(pods, services.Trim(&p))
	}
	return pods
}

// runningPods are the pods of the runtime of which a container runs, nil before the first relist.
func (s *Session) runningPods() map[types.UID]bool {
	if s.Node == nil {
		return nil
	}
	if h, _ := s.Node.PLEG(); h.LastRelist.IsZero() {
		return nil
	}
	return running(s.Node.RuntimePods())
}

// listRunning asks the runtime which pods have a running container, nil if it does not answer.
func (s *Session) listRunning() map[types.UID]bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	pods, err := s.Client.ListPods(ctx)
	if err != nil {
		s.opts.Log.Warn("pods that run on keep their Services: the runtime does not list its pods", "err", err)
		return nil
	}
	return running(pods)
}

// running are the pods, by whether a container of them runs.
func running(pods []*pod.Pod) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, p := range pods {
		all[p.UID] = slices.ContainsFunc(p.Containers, func(c *pod.Container) bool { return c.State == pod.Running })
	}
	return all
}

// Run runs the node and its Jobs, and keeps its Services current.
func (s *Session) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { s.services.Run(ctx) })
	all.Go(func() { s.jobs.run(ctx) })
	all.Go(func() {
		w := s.Watch()
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.Changes():
				s.services.Changed()
			}
		}
	})
	return s.Node.Run(ctx)
}

// ReadServices returns the Services of the podctl process that serves, and those that the others do not get
// served. With an error, those of the processes that answer.
func ReadServices(ctx context.Context, locks string) (all []services.Service, err error) {
	clients, err := FindPeers(locks, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no podctl process has been there
		return nil, err
	}
	views, failed := askForServices(ctx, clients)
	if i := slices.IndexFunc(views, func(v services.View) bool { return v.Serving }); i >= 0 {
		views[0], views[i] = views[i], views[0]
		// What a process said last that does not answer is in the table of the one that serves.
		maps.DeleteFunc(failed, func(name string, _ error) bool { return !slices.Contains(views[0].Unanswered, name) })
	}
	seen := map[string]bool{}
	for _, v := range views {
		for _, s := range v.Table {
			if name := s.Namespace + "/" + s.Name; !seen[name] || v.Serving {
				seen[name] = true
				s.Problem = cmp.Or(s.Problem, v.Problem)
				all = append(all, s)
			}
		}
	}
	return all, errors.Join(slices.Collect(maps.Values(failed))...)
}

// servicesTimeout bounds the answers of all podctl processes, which come from memory.
const servicesTimeout = 2 * time.Second

// askForServices asks the processes at the same time. It returns the answers, and the errors by instance.
func askForServices(ctx context.Context, clients map[string]*control.Client) (views []services.View, failed map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, servicesTimeout)
	defer cancel()
	failed = map[string]error{}
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(32)
	for _, c := range clients {
		asking.Go(func() error {
			v, err := c.Services(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[c.Instance()] = err
			} else {
				views = append(views, v)
			}
			return nil
		})
	}
	_ = asking.Wait() // returns no error
	return views, failed
}
