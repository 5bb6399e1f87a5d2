package services

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// DNSAddress is where names are resolved: the address that NodeLocal DNSCache has by default. Being
// link-local it is in no route that the host could have for others, and being the machine's own
// every pod reaches it by its default route.
const DNSAddress = "169.254.20.10"

// TableName is the nftables table of the family ip in which the process that serves keeps its rules.
const TableName = "podctl-services"

// ErrServedElsewhere: another process of the network namespace serves.
var ErrServedElsewhere = errors.New("another process serves the Services of this machine")

// View is what a podctl process reports about its Services.
type View struct {
	Input
	// Serving: the process serves Table for all processes.
	Serving bool `json:"serving"`
	// Settled: the process has adopted its pods.
	Settled bool `json:"settled"`
	// Problem is why its Services are not served; "" if they are, by this process or another one.
	Problem string `json:"problem,omitempty"`
	// Table is what the process serves, or would.
	Table []Service `json:"table"`
	// Unanswered are other processes that have not answered this one yet, so that Table misses them.
	Unanswered []string `json:"unanswered,omitempty"`
}

// Backend serves Services: a Host.
type Backend interface {
	// Start begins to serve, or returns ErrServedElsewhere, or why it cannot.
	Start(ctx context.Context) error
	Apply(ctx context.Context, all []Service, pods []PodAddress) error
	Stop(keep bool) error
}

// Options are what a Manager is made of.
type Options struct {
	Range netip.Prefix
	// Backend is nil where Services are not served, for the reason Unserved.
	Backend  Backend
	Unserved string
	// Node is the machine's name.
	Node string
	// Pods returns the pods of this process, trimmed.
	Pods func() []*v1.Pod
	// Instance is the name of this process, and Socket the path of its control socket: processes of one
	// directory use one runtime.
	Instance, Socket string
	// Peers returns the host's other podctl processes that live, by their control sockets.
	Peers func() (map[string]Process, error)
	// Running returns the pods, of any process, of which the runtime has running containers; nil before it was asked.
	Running func() map[types.UID]bool
	// Settled reports whether Pods are all that this process owns: it may have just started.
	Settled func() bool
	// State is the path of StateFile.
	State string
	// Warn is told why Services are not served, once for each reason. It must not block.
	Warn func(error)
	Log  *slog.Logger
}

// Manager makes the Services of one podctl process served, by itself or by another process. Make one with
// NewManager. It is safe for concurrent use.
type Manager struct {
	o     Options
	peers *peers

	mu      sync.Mutex
	alloc   Allocator
	sources map[string]*pod.Objects
	serving bool
	// elsewhere: another process serves.
	elsewhere bool
	problem   string
	// retry is when serving is tried again that failed.
	retry   time.Time
	table   []Service
	applied []Service
	// pods are those of the applied zone.
	pods []PodAddress
	wake chan struct{}
}

// NewManager returns a manager without Services.
func NewManager(o Options) *Manager {
	m := &Manager{o: o, alloc: Allocator{Range: o.Range}, sources: map[string]*pod.Objects{}, wake: make(chan struct{}, 1)}
	m.peers = &peers{Options: o, changed: m.Changed, known: map[string]*peer{}}
	return m
}

// Set replaces the Services and EndpointSlices of a source. It returns the objects with the addresses of
// the Services, or without Services where they are not served.
func (m *Manager) Set(ctx context.Context, source string, objects *pod.Objects) *pod.Objects {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sources[source] = objects
	all := map[types.NamespacedName]bool{}
	for _, o := range m.sources {
		if o != nil {
			for name := range o.Services {
				all[name] = true
			}
		}
	}
	assigned := m.alloc.Assign(objects, all)
	m.sources[source], m.retry = assigned, time.Time{}
	m.start(ctx)
	m.Changed()
	if m.problem != "" && assigned != nil && len(assigned.Services) > 0 {
		without := *assigned
		without.Services = nil
		return &without
	}
	return assigned
}

// own are the Services and EndpointSlices of this process. m.mu is held.
func (m *Manager) own() Input {
	in := Input{Services: []*v1.Service{}, Slices: []*discoveryv1.EndpointSlice{}}
	merged := pod.NewObjects()
	for _, source := range slices.Backward(slices.Sorted(maps.Keys(m.sources))) {
		if o := m.sources[source]; o != nil {
			maps.Copy(merged.Services, o.Services)
			maps.Copy(merged.EndpointSlices, o.EndpointSlices)
		}
	}
	for _, s := range merged.Services {
		in.Services = append(in.Services, s)
	}
	for _, s := range merged.EndpointSlices {
		in.Slices = append(in.Slices, s)
	}
	slices.SortFunc(in.Services, func(a, b *v1.Service) int { return compareNames(a.Namespace, a.Name, b.Namespace, b.Name) })
	slices.SortFunc(in.Slices, func(a, b *discoveryv1.EndpointSlice) int {
		return compareNames(a.Namespace, a.Name, b.Namespace, b.Name)
	})
	return in
}

// start begins to serve if there is something to serve. m.mu is held.
func (m *Manager) start(ctx context.Context) {
	if m.serving || len(m.own().Services) == 0 || time.Now().Before(m.retry) {
		return
	}
	m.elsewhere = false
	err := errors.New(m.o.Unserved)
	if m.o.Backend != nil {
		err = m.o.Backend.Start(ctx)
	}
	switch {
	case err == nil:
		m.serving, m.problem, m.applied = true, "", nil
		m.peers.load()
		m.apply(ctx, m.peers.inputs(m.own()))
	case errors.Is(err, ErrServedElsewhere):
		m.elsewhere = true
	default:
		m.setProblem(err)
		m.retry = time.Now().Add(retryPeriod)
	}
}

// setProblem keeps why Services are not served, and says it once. m.mu is held.
func (m *Manager) setProblem(err error) {
	if m.problem != err.Error() {
		m.o.Warn(err)
	}
	m.problem = err.Error()
}

// Changed says that pods have changed.
func (m *Manager) Changed() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// DNS returns the address of the DNS server of pods, "" where the process has no Services, or they are not
// served.
func (m *Manager) DNS() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problem != "" || len(m.own().Services) == 0 {
		return ""
	}
	return DNSAddress
}

// View returns what this process contributes, and serves.
func (m *Manager) View() View {
	pods := m.o.Pods()
	m.mu.Lock()
	defer m.mu.Unlock()
	v := View{Input: m.own(), Serving: m.serving, Settled: m.o.Settled(), Problem: m.problem, Table: m.table}
	v.Pods = pods
	v.Unanswered = m.peers.unanswered()
	if !m.serving {
		v.Table = Build([]Input{v.Input}, m.o.Range, m.o.Node)
	}
	return v
}

const (
	// period is how often other processes are asked, or it is tried to be the one that serves.
	period = time.Second
	// retryPeriod is how long serving is not tried again where it is not possible.
	retryPeriod = 30 * time.Second
	// pause gathers changes that come together.
	pause = 50 * time.Millisecond
)

// Run keeps what is served current until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
			time.Sleep(pause)
		case <-ticks.C:
		}
		m.update(ctx)
	}
}

// update serves what the processes have now, or tries to be the one that serves.
func (m *Manager) update(ctx context.Context) {
	pods := m.o.Pods()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(ctx)
	own := m.own()
	contributes := m.elsewhere && len(own.Services) > 0
	m.peers.find(ctx, m.serving || contributes)
	if !m.serving {
		// Only a process that this one sees knows its Services.
		if problem, answered := m.peers.findServer(); contributes && answered && m.problem != problem {
			if m.problem = ""; problem != "" {
				m.setProblem(errors.New(problem))
			}
		}
		return
	}
	own.Pods = pods
	inputs := m.peers.inputs(own)
	if slices.ContainsFunc(inputs, func(i Input) bool { return len(i.Services) > 0 }) {
		m.apply(ctx, inputs)
		return
	}
	m.serving, m.table = false, nil
	if err := m.stop(false); err != nil {
		m.o.Log.Warn("stop serving Services", "err", err)
	}
}

// apply serves what processes contribute, this one first. m.mu is held.
func (m *Manager) apply(ctx context.Context, inputs []Input) {
	var pods []PodAddress
	for _, i := range inputs {
		for _, p := range i.Pods {
			pods = append(pods, PodAddress{p.Namespace, addressOf(p)})
			if addr, err := netip.ParseAddr(addressOf(p)); err == nil && m.o.Range.Contains(addr) {
				err := hint.Errorf("--service-cidr takes another range", "the range %s of Services has the address %s of the pod %s/%s", m.o.Range, addr, p.Namespace, p.Name)
				m.serving, m.retry = false, time.Now().Add(retryPeriod)
				m.setProblem(errors.Join(err, m.stop(false)))
				return
			}
		}
	}
	table := Build(inputs, m.o.Range, m.o.Node)
	m.table = table
	if m.applied != nil && reflect.DeepEqual(m.applied, table) && slices.Equal(m.pods, pods) {
		return
	}
	if err := m.o.Backend.Apply(ctx, table, pods); err != nil {
		if ctx.Err() == nil {
			m.setProblem(err)
		}
		return
	}
	m.problem, m.applied, m.pods = "", table, pods
	m.peers.save(inputs[0])
}

// Close ends serving; keep leaves the rules for pods of this process that go on running.
func (m *Manager) Close(keep bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.serving {
		return nil
	}
	m.serving = false
	return m.stop(keep || slices.ContainsFunc(m.peers.inputs(Input{}), func(i Input) bool { return len(i.Pods) > 0 }))
}

func (m *Manager) stop(keep bool) error {
	err := m.o.Backend.Stop(keep)
	if !keep {
		err = errors.Join(err, removeState(m.o.State))
	}
	return err
}
