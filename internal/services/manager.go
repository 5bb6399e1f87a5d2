package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Dir is PartsDir, in which Process has its part.
	Dir     string
	Process Process
	// Living returns the ids of the podctl processes that live.
	Living func() (map[string]bool, error)
	// Running returns the pods, of any process, of which the runtime has running containers; nil before it was asked.
	Running func() map[types.UID]bool
	// Warn is told why Services are not served, once for each reason. It must not block.
	Warn func(error)
	Log  *slog.Logger
}

// Manager makes the Services of one podctl process served, by itself or by another process. Make one with
// NewManager. It is safe for concurrent use.
type Manager struct {
	o Options

	mu      sync.Mutex
	alloc   Allocator
	sources map[string]*pod.Objects
	serving bool
	// elsewhere: another process serves. seen is when it was seen last, or looked for first.
	elsewhere bool
	seen      time.Time
	problem   string
	// retry is when serving is tried again that failed.
	retry   time.Time
	table   []Service
	applied []Service
	// pods are those of the applied zone.
	pods []PodAddress
	// ownPods are the pods of this process as they were last.
	ownPods []*v1.Pod
	// foreign is the first pod of another process that is left out.
	foreign string
	// known are the parts that were read last, unread is why some could not be.
	known  []*part
	unread string
	// written is this process's part as it is in the file; nil without one, and empty where writing it failed.
	written []byte
	wake    chan struct{}
}

// NewManager returns a manager without Services.
func NewManager(o Options) *Manager {
	return &Manager{o: o, alloc: Allocator{Range: o.Range}, sources: map[string]*pod.Objects{}, wake: make(chan struct{}, 1)}
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
	if m.alloc.given == nil {
		m.readOthers()
		m.alloc.Keep(m.before())
	}
	assigned := m.alloc.Assign(objects, all)
	m.sources[source], m.retry = assigned, time.Time{}
	if m.start(ctx) { // its addresses answer before a pod starts
		own := m.own()
		own.Pods = m.ownPods
		m.apply(ctx, m.inputs(own, m.readOthers()))
	}
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

// start begins to serve if there is something to serve, and reports whether it did. m.mu is held.
func (m *Manager) start(ctx context.Context) bool {
	if m.serving || len(m.own().Services) == 0 || time.Now().Before(m.retry) {
		return false
	}
	m.elsewhere = false
	err := errors.New(m.o.Unserved)
	if m.o.Backend != nil {
		err = m.o.Backend.Start(ctx)
	}
	switch {
	case err == nil:
		m.serving, m.problem, m.applied, m.seen = true, "", nil, time.Time{}
	case errors.Is(err, ErrServedElsewhere):
		m.elsewhere = true
	default:
		m.setProblem(err)
		m.retry = time.Now().Add(retryPeriod)
	}
	return m.serving
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

// look returns the parts of the other processes, and whether any process, this one included, has Services.
func (m *Manager) look() (others []*part, needed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	others = m.readOthers()
	return others, len(m.own().Services) > 0 || slices.ContainsFunc(others, func(p *part) bool { return len(p.Services) > 0 })
}

const (
	// period is how often the parts of other processes are read, or it is tried to be the one that serves.
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

// update applies what the processes have now, or tries to be the one that serves, and writes this one's part.
func (m *Manager) update(ctx context.Context) {
	others, needed := m.look()
	var pods []*v1.Pod
	if needed {
		pods = m.o.Pods()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(ctx)
	own := m.own()
	own.Pods, m.ownPods = pods, pods
	switch inputs := m.inputs(own, others); {
	case m.serving && slices.ContainsFunc(inputs, func(i Input) bool { return len(i.Services) > 0 }):
		m.apply(ctx, inputs)
	case m.serving:
		m.serving, m.table = false, nil
		if err := m.o.Backend.Stop(false); err != nil {
			m.o.Log.Warn("stop serving Services", "err", err)
		}
	case m.elsewhere && len(own.Services) > 0:
		m.checkServer(others)
	}
	if !needed {
		m.write(nil)
		return
	}
	p := &part{Process: m.o.Process, Input: own, Serving: m.serving, Problem: m.problem, Table: m.table}
	if !m.serving {
		p.Table = Build([]Input{own}, m.o.Range, m.o.Node)
	}
	m.write(p)
}

// checkServer reports it if the process that serves is no podctl of this run directory, and so does not know the Services
// of this one. m.mu is held.
func (m *Manager) checkServer(others []*part) {
	now := time.Now()
	switch {
	case slices.ContainsFunc(others, func(p *part) bool { return p.living && p.Serving }):
		m.problem, m.seen = "", now
	case m.seen.IsZero():
		m.seen = now // it may be about to write it
	case now.Sub(m.seen) > silence:
		m.setProblem(fmt.Errorf("port 53 of %s is bound by a process that is no podctl of this run directory", DNSAddress))
	}
}

// before returns what this process served last, or before it, as far as its part is there, another one. m.mu is held.
func (m *Manager) before() []Service {
	table, at := m.table, time.Time{}
	for _, p := range m.known {
		if m.table == nil && p.Serving && p.at.After(at) {
			table, at = p.Table, p.at
		}
	}
	return table
}

// apply serves what processes contribute, this one first. m.mu is held.
func (m *Manager) apply(ctx context.Context, inputs []Input) {
	var pods []PodAddress
	foreign := ""
	isInRange := func(p *v1.Pod) bool {
		addr, err := netip.ParseAddr(addressOf(p))
		return err == nil && m.o.Range.Contains(addr)
	}
	for n, i := range inputs {
		if k := slices.IndexFunc(i.Pods, isInRange); n > 0 && k >= 0 { // its runtime may say anything
			foreign = cmp.Or(foreign, fmt.Sprintf("%s of %s/%s", addressOf(i.Pods[k]), i.Pods[k].Namespace, i.Pods[k].Name))
			i.Pods = slices.DeleteFunc(slices.Clone(i.Pods), isInRange)
			inputs[n] = i
		}
		for _, p := range i.Pods {
			pods = append(pods, PodAddress{p.Namespace, addressOf(p)})
			if isInRange(p) {
				err := hint.Errorf("--service-cidr takes another range", "the range %s of Services has the address %s of the pod %s/%s", m.o.Range, addressOf(p), p.Namespace, p.Name)
				m.serving, m.retry = false, time.Now().Add(retryPeriod)
				m.setProblem(errors.Join(err, m.o.Backend.Stop(false)))
				return
			}
		}
	}
	if foreign != "" && foreign != m.foreign {
		m.o.Log.Warn("pods of other podctl processes with an address in the range of Services are left out", "range", m.o.Range, "pod", foreign)
	}
	m.foreign = foreign
	table := Build(inputs, m.o.Range, m.o.Node, m.before()...)
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
}

// Close ends serving; keep leaves the rules, and what this process has, for its pods that go on running.
func (m *Manager) Close(keep bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !keep {
		m.write(nil)
	}
	if !m.serving {
		return nil
	}
	m.serving = false
	return m.o.Backend.Stop(keep || slices.ContainsFunc(m.inputs(Input{}, m.readOthers()), func(i Input) bool { return len(i.Pods) > 0 }))
}
