package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// Answer is what a kubelet answered when it was asked for its pods.
type Answer struct {
	// Source names the kubelet: "kubelet http://127.0.0.1:10255".
	Source string
	// PID is the kubelet that uses the runtime, 0 if none is seen.
	PID int
	// By is the server and the credential that answered.
	By Access
	// Pods are the pods that it manages, with their statuses.
	Pods []*v1.Pod
	// Err is why it did not answer; Pods is then empty.
	Err error
	// Incomplete is why Pods may not be all that it manages: Err, if it did not
	// answer. If Incomplete is nil, it terminates every other pod.
	Incomplete error
	// IncompleteBesideCluster is Incomplete for a caller that has the pods of its API
	// server from that server: the kubelet may not have reached it yet.
	IncompleteBesideCluster error
	// Undesired is how many pods it terminates, or cleans up after, that none of its
	// sources desires; 0 if its metrics were not read. It counts them every two
	// seconds, and does not name them in Pods.
	Undesired int
}

// Question says how a kubelet is asked. The zero value asks for its pods alone.
type Question struct {
	// Limit bounds each answer of its pods; 0 is Timeout.
	Limit time.Duration
	// StaticPods is its static pod directory, "" for that of its settings; NodeName is
	// the name of its node, "" for that of its settings.
	StaticPods, NodeName string
	// CountUndesired: read Answer.Undesired also where completeness is known without
	// the metrics.
	CountUndesired bool
}

// Timeout bounds the answers of all servers of a kubelet on this machine, which
// answers from memory; countTimeout bounds its metrics where only Undesired is read.
const (
	Timeout      = 5 * time.Second
	countTimeout = 500 * time.Millisecond
)

// Ask asks the kubelet for its pods, with the credentials that podctl finds.
func (p *Process) Ask(ctx context.Context, q Question) Answer {
	return ask(ctx, p, p, q)
}

// Ask asks the kubelet at the address that the user named. p is the kubelet that
// uses the runtime, nil if none is seen: its age, API server and static pods decide
// whether the answer is complete.
func (o Options) Ask(ctx context.Context, p *Process, q Question) Answer {
	return ask(ctx, o, p, q)
}

// server is a kubelet's server.
type server interface {
	source() string
	pods(ctx context.Context) (podList, error)
	workingPods(ctx context.Context) workingPods
}

// podList is a list of a kubelet's pods.
type podList struct {
	pods []*v1.Pod
	by   Access
	// sources: whether the kubelet had read all of its sources.
	sources sourcesState
}

// sourcesState is what a list of pods says of the kubelet's sources.
type sourcesState uint8

const (
	sourcesUnknown sourcesState = iota
	sourcesRead
	sourcesUnread
)

var (
	_ server = (*Process)(nil)
	_ server = Options{}
)

// ask reads the metrics only where the pods alone do not show that they are all, and
// the pods again after them: the metrics take longer, and hang while the kubelet's
// runtime does.
func ask(ctx context.Context, s server, p *Process, q Question) Answer {
	a := Answer{Source: "kubelet " + s.source()}
	if p != nil {
		a.PID = p.PID
	}
	e := evidence{}
	read := func() {
		ctx, cancel := context.WithTimeout(ctx, q.limit())
		defer cancel()
		l, err := s.pods(ctx)
		a.Pods, a.By, a.Err = l.pods, l.by, err
		e.pods, e.sources = l.pods, l.sources
		if err == nil {
			a.Source = "kubelet " + l.by.server()
		}
	}
	read()
	if a.Err != nil {
		a.Pods, a.Incomplete, a.IncompleteBesideCluster = nil, a.Err, a.Err
		return a
	}
	if p != nil {
		e.seen, e.age, e.followsAPIServer = true, p.age, p.followsAPIServer()
	}
	var metrics workingPods
	switch {
	case e.sourcesUnread() != nil || e.unsettled() != nil:
		if metrics = s.workingPods(ctx); metrics.HousekeepingRan {
			before, known := a, e
			if read(); a.Err == nil {
				e.sources = sourcesRead
			} else {
				a, e = before, known
				metrics = workingPods{}
			}
		}
	case q.CountUndesired:
		counting, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		metrics = s.workingPods(counting)
	}
	a.Undesired = metrics.TerminatingUnlisted
	if p != nil {
		e.static, e.staticUnread = p.staticPods(ctx, q)
	}
	a.judge(e)
	return a
}

func (q Question) limit() time.Duration {
	if q.Limit > 0 {
		return q.Limit
	}
	return Timeout
}

// judge sets Incomplete and IncompleteBesideCluster.
func (a *Answer) judge(e evidence) {
	state := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s may not name all of its pods: %w", a.Source, err)
	}
	a.IncompleteBesideCluster = state(e.unsettled())
	if a.Incomplete = state(e.sourcesUnread()); a.Incomplete == nil {
		a.Incomplete = a.IncompleteBesideCluster
	}
}

// evidence is what shows whether a kubelet's pods are all that it manages.
type evidence struct {
	pods []*v1.Pod
	// seen: the kubelet uses the runtime, and its age and API server are known.
	seen             bool
	age              time.Duration
	followsAPIServer bool
	// sources: whether it has read all of its sources, as its PodsAPI says; or its
	// metrics, before it was asked for the pods.
	sources sourcesState
	// static are the pods of its static pod directory, read after pods; staticUnread is
	// why that does not answer.
	static       []*v1.Pod
	staticUnread error
}

// sourcesUnread is why the kubelet may not have read all of its sources, nil if it
// names pods of them.
func (e evidence) sourcesUnread() error {
	ofServer := func(p *v1.Pod) bool { return p.Annotations[pod.ConfigSourceAnnotation] == "api" }
	switch {
	case e.sources == sourcesRead:
		return nil
	case e.sources == sourcesUnread:
		return errInitializing
	case e.followsAPIServer && !slices.ContainsFunc(e.pods, ofServer):
		return errNoAPIPod
	case len(e.pods) == 0:
		return errNoPod
	}
	return nil
}

var (
	// errNoAPIPod: a kubelet that started while its API server did not answer knows
	// only its static pods, and leaves the others running.
	errNoAPIPod = errors.New("it names no pod of its API server, and may not have reached it yet")
	// errNoPod: a kubelet answers with an empty list before it has read its sources,
	// which may take it minutes on a busy machine.
	errNoPod = errors.New("it names no pod, and may not have read its sources yet")
)

// settleTime is the age from which on a kubelet counts as settled.
const settleTime = time.Minute

// unsettled is why pods may be missing although the kubelet has reached its API
// server: its age, or a static pod that it does not name.
func (e evidence) unsettled() error {
	if !e.seen {
		return nil
	}
	if e.sources == sourcesUnread {
		return errInitializing
	}
	if e.age < settleTime && e.sources != sourcesRead {
		return fmt.Errorf("it was started %s ago", e.age.Round(100*time.Millisecond))
	}
	if e.staticUnread != nil {
		return e.staticUnread
	}
	known := map[string]bool{}
	for _, p := range e.pods {
		known[p.Namespace+"/"+p.Name] = true
	}
	for _, p := range e.static {
		if !known[p.Namespace+"/"+p.Name] {
			return fmt.Errorf("it does not name its static pod %s/%s yet", p.Namespace, p.Name)
		}
	}
	return nil
}

// staticPods returns the pods of the static pod directory. The kubelet passes over one
// that cannot be read, and reads none of its pods where it does not answer.
func (p *Process) staticPods(ctx context.Context, q Question) ([]*v1.Pod, error) {
	dir := cmp.Or(q.StaticPods, p.StaticPods())
	if dir == "" {
		return nil, nil
	}
	name := q.NodeName
	if name == "" {
		var err error
		if name, err = p.Node(); err != nil {
			return nil, err
		}
	}
	pods, err := withReadTimeout(ctx, func(context.Context) ([]*v1.Pod, error) { return ReadStaticPods(dir, name) })
	if errors.Is(err, errHangs) || ctx.Err() != nil {
		return nil, err
	}
	return pods, nil
}

// Node is the name of its node as the API server has it, in lower case:
// --hostname-override, else the host's name. p may be nil.
func (p *Process) Node() (string, error) {
	name := ""
	if p != nil {
		name = strings.TrimSpace(p.NodeName)
	}
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("read the node's name: %w", err)
		}
		name = host
	}
	return strings.ToLower(name), nil
}

func (p *Process) source() string { return p.Server() }

func (o Options) source() string { return safeurl.Text(o.Address()) }
