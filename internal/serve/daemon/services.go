package daemon

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
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
	o.Others = func() (map[string]services.Process, error) {
		clients, err := FindPeers(runDir, own)
		all := map[string]services.Process{}
		for socket, c := range clients {
			all[socket] = services.Process{Name: c.Instance(), Ask: c.Services}
		}
		return all, err
	}
	o.Instance, o.Socket, o.State = s.opts.Instance, own, services.StateFile(runDir)
	o.Settled = func() bool { return s.Node.Settled() }
	o.Running = s.runningPods
	m := services.NewManager(o)
	s.onClose(func() error { return m.Close(s.Node != nil && s.Alive() > 0) })
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
	running := map[types.UID]bool{}
	for _, p := range s.Node.RuntimePods() {
		running[p.UID] = slices.ContainsFunc(p.Containers, func(c *pod.Container) bool { return c.State == pod.Running })
	}
	return running
}

// Set is that of the node; the Services among the objects are served before a pod starts.
func (s *Session) Set(source string, pods []node.Desired, objects *pod.Objects) {
	s.Node.Set(source, pods, s.services.Set(context.Background(), source, objects))
}

// SetPartly is that of the node, as Set is.
func (s *Session) SetPartly(source string, pods []node.Desired, objects *pod.Objects) {
	s.Node.SetPartly(source, pods, s.services.Set(context.Background(), source, objects))
}

// Run runs the node, and keeps its Services current.
func (s *Session) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { s.services.Run(ctx) })
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
