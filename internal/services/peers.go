package services

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Process is another podctl process that lives.
type Process struct {
	// Name is the instance under which it owns pods.
	Name string
	// Ask returns what it says of its Services.
	Ask func(context.Context) (View, error)
}

const (
	// askAtOnce is how many processes are asked at a time, and askTimeout how long one may take.
	askAtOnce  = 32
	askTimeout = 5 * time.Second
	// askWait is how long an update waits for a process that answered the last time. One that did not
	// answer delays nothing.
	askWait = 500 * time.Millisecond
	// adoptionWait is how long the last answer of a process counts that has restarted.
	adoptionWait = 30 * time.Second
)

// peers knows the last answer of each other podctl process: the pods of a suspended one run on, and so may
// those of one that has exited. It is safe for concurrent use.
type peers struct {
	// find returns the other processes that live, by their control sockets. own is that of this one.
	find func() (map[string]Process, error)
	own  string
	// running returns the pods of which the runtime has running containers; nil before it was asked.
	running func() map[types.UID]bool
	log     *slog.Logger
	// slots bounds how many are asked at a time.
	slots chan struct{}

	mu    sync.Mutex
	known map[string]*peer
}

// peer is one process. What is exported is in the state file.
type peer struct {
	Name string `json:"name"`
	// Last is its answer at the time At, which is zero before the first.
	Last View      `json:"last"`
	At   time.Time `json:"at"`

	// asking ends when it has answered; nil while it is not asked.
	asking chan struct{}
	// silent: it did not answer the last time, or has not yet. exited: it does not live.
	silent, exited bool
}

func newPeers(o Options) *peers {
	return &peers{find: o.Peers, own: o.Socket, running: o.Running, log: o.Log, slots: make(chan struct{}, askAtOnce), known: map[string]*peer{}}
}

// ask asks all processes, and forgets those of other runtimes that have exited: whether their pods run is not
// known. It returns before those have answered that did not answer the last time.
func (o *peers) ask(ctx context.Context) {
	found, err := o.find()
	if err != nil {
		o.log.Warn("other podctl processes are not found: their Services are those of their last answers", "err", err)
	}
	o.mu.Lock()
	for key, k := range o.known {
		if _, lives := found[key]; !lives && err == nil {
			k.exited = true
			if k.At.IsZero() || filepath.Dir(key) != filepath.Dir(o.own) {
				delete(o.known, key)
			}
		}
	}
	var waits []*peer
	for key, p := range found {
		k := o.known[key]
		if k == nil {
			k = &peer{Name: p.Name}
			o.known[key] = k
		}
		k.exited = false
		if k.asking == nil {
			k.asking = make(chan struct{})
			go o.askOne(ctx, k, p)
		}
		if !k.silent {
			waits = append(waits, k)
		}
	}
	asked := make([]chan struct{}, len(waits))
	for i, k := range waits {
		asked[i] = k.asking
	}
	o.mu.Unlock()
	limit, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	for i, k := range waits {
		select {
		case <-asked[i]:
		case <-limit.Done():
			o.mu.Lock()
			k.silent = k.silent || k.asking == asked[i]
			o.mu.Unlock()
		}
	}
}

func (o *peers) askOne(ctx context.Context, k *peer, p Process) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var v View
	err := context.DeadlineExceeded
	select {
	case o.slots <- struct{}{}:
		v, err = p.Ask(ctx)
		<-o.slots
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// A process that has restarted adopts its pods first.
	restarted := k.Last.Settled && !v.Settled && time.Since(k.At) < adoptionWait
	if k.silent = err != nil || restarted; !k.silent {
		k.Last, k.At = v.withoutNil(), time.Now()
	}
	close(k.asking)
	k.asking = nil
}

// withoutNil returns the view without the objects that its JSON has as null.
func (v View) withoutNil() View {
	v.Services = slices.DeleteFunc(v.Services, func(s *v1.Service) bool { return s == nil })
	v.Slices = slices.DeleteFunc(v.Slices, func(s *discoveryv1.EndpointSlice) bool { return s == nil })
	v.Pods = slices.DeleteFunc(v.Pods, func(p *v1.Pod) bool { return p == nil })
	return v
}

func (k *peer) stale() string {
	return fmt.Sprintf("podctl %q does not answer: what it said at %s counts", k.Name, k.At.Format(time.TimeOnly))
}

// inputs returns what the processes contribute, own first; views, the last answers of those that live; and the names of those
// that have never answered. What a process said that does not answer is stale. Of one that has exited the pods
// count that run and that no other process has, and while there is one its Services of which no other process has one.
func (o *peers) inputs(own Input) (all []Input, views []View, unanswered []string) {
	all = []Input{own}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(o.known)) {
		switch k := o.known[key]; {
		case k.exited:
		case k.At.IsZero():
			unanswered = append(unanswered, k.Name)
		default:
			v := k.Last
			if k.silent {
				v.Stale = k.stale()
			}
			views, all = append(views, v), append(all, v.Input)
		}
	}
	listed := sync.OnceValue(o.running)
	for _, key := range slices.Sorted(maps.Keys(o.known)) {
		if k := o.known[key]; k.exited {
			running := listed()
			in := k.Last.without(all)
			in.Stale = k.stale()
			in.Pods = slices.DeleteFunc(in.Pods, func(p *v1.Pod) bool { return running != nil && !running[p.UID] })
			if len(in.Pods) > 0 {
				all = append(all, in)
			} else if running != nil {
				delete(o.known, key)
			}
		}
	}
	return all, views, unanswered
}

// without returns the input without the Services that others have, and the pods of which they have an address.
func (i Input) without(others []Input) Input {
	services, pods := map[string]bool{}, map[types.UID]bool{}
	for _, other := range others {
		for _, s := range other.Services {
			services[s.Namespace+"/"+s.Name] = true
		}
		for _, p := range other.Pods {
			pods[p.UID] = addressOf(p) != ""
		}
	}
	i.Services = slices.DeleteFunc(slices.Clone(i.Services), func(s *v1.Service) bool { return services[s.Namespace+"/"+s.Name] })
	i.Pods = slices.DeleteFunc(slices.Clone(i.Pods), func(p *v1.Pod) bool { return pods[p.UID] })
	return i
}
