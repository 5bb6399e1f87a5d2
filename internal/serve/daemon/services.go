package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/hint"
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
	runDir := filepath.Dir(p.Locks)
	o.Dir, o.Process = services.PartsDir(runDir), services.Process{ID: s.locks.ID(), Instance: s.opts.Instance, Locks: p.Locks}
	o.Living = func() (map[string]bool, error) { return livingProcesses(runDir) }
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

// serviceAddresses are the addresses that no hostIP of a pod may take, none where the machine has its own in the range.
func serviceAddresses(in netip.Prefix, own []string) []netip.Prefix {
	if !in.IsValid() || slices.ContainsFunc(own, func(ip string) bool {
		addr, err := netip.ParseAddr(ip)
		return err == nil && in.Contains(addr)
	}) {
		return nil
	}
	return []netip.Prefix{in, netip.MustParsePrefix(services.DNSAddress + "/32")}
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

// runningPods returns for each pod of the runtime whether a container of it runs; nil before the first relist.
func (s *Session) runningPods() map[types.UID]bool {
	if s.Node == nil {
		return nil
	}
	if h, _ := s.Node.PLEG(); h.LastRelist.IsZero() {
		return nil
	}
	return running(s.Node.RuntimePods())
}

// listRunning is runningPods by a list of now; nil if the runtime does not answer.
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

// running returns for each pod whether a container of it runs.
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

// ReadServices returns the Services of the podctl processes that have a run directory, see services.Read.
func ReadServices(runDir string) ([]services.Service, error) {
	all, err := services.Read(services.PartsDir(runDir), func() (map[string]bool, error) { return livingProcesses(runDir) })
	if errors.Is(err, fs.ErrPermission) {
		err = hint.With(err, "run podctl as root, for instance with sudo")
	}
	return all, err
}

// livingProcesses returns the ids of the podctl processes that live, of any runtime.
func livingProcesses(runDir string) (map[string]bool, error) {
	if err := owner.CheckDir(services.PartsDir(runDir)); err != nil {
		return nil, err
	}
	runtimes, err := os.ReadDir(runDir)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, dir := range runtimes {
		living, err := owner.LiveInstances(filepath.Join(runDir, dir.Name()))
		if err != nil {
			return nil, err
		}
		for _, h := range living {
			all[h.ID] = true
		}
	}
	return all, nil
}
