package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// Process is another podctl process that lives.
type Process struct {
	// Name is the instance under which it owns pods.
	Name string
	// Ask returns what it says of its Services.
	Ask func(context.Context) (View, error)
}

const (
	// askTimeout is how long one answer may take.
	askTimeout = 5 * time.Second
	// adoptionWait is how long the last answer of a process counts that has restarted.
	adoptionWait = 30 * time.Second
	// maxState bounds the state file, in bytes: 10,000 pods take some megabytes.
	maxState = 64 << 20
)

// StateFile returns the file in podctl's run directory in which the process that serves has written what it
// knows of all processes: the next one that serves keeps the addresses of pods that run.
func StateFile(runDir string) string { return filepath.Join(runDir, "services.json") }

// peers knows the last answer of each other podctl process: the pods of a suspended one run on, and so may
// those of one that has exited. It is safe for concurrent use.
type peers struct {
	Options
	// changed is called when a process answers something else than before.
	changed func()

	mu    sync.Mutex
	known map[string]*peer // by control socket
}

// peer is one process. What is exported is in the state file.
type peer struct {
	Name string `json:"name"`
	// Last is its answer at the time At, which is zero before the first.
	Last View      `json:"last"`
	At   time.Time `json:"at"`

	// silent: it did not answer the last time.
	silent bool
	// stop ends asking; nil of a process that does not live.
	stop context.CancelFunc
}

// load adds what the process that served before had written, if that can be read.
func (o *peers) load() {
	content, err := bounded.ReadNoFollow(o.State, maxState)
	was := map[string]*peer{}
	if err == nil {
		err = json.Unmarshal(content, &was)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Log.Warn("Services of processes that have exited are not served", "err", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, k := range was {
		if k != nil && o.known[key] == nil {
			k.Last = k.Last.withoutNil()
			o.known[key] = k
		}
	}
}

// save writes the state file, which load reads.
func (o *peers) save(own Input) {
	o.mu.Lock()
	all := map[string]peer{o.Socket: {Name: o.Instance, Last: View{Input: own}, At: time.Now()}}
	for key, k := range o.known {
		if !k.At.IsZero() {
			all[key] = *k
		}
	}
	o.mu.Unlock()
	content, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Replace(o.State, content, 0o600)
	}
	if err != nil {
		o.Log.Warn("after a kill of this process the Services are not served that only it has", "err", err)
	}
}

func removeState(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// find begins to ask the processes that live until ctx ends, if they are needed, and ends asking the others. Those of
// other runtimes that have exited are forgotten: whether their pods run is not known.
func (o *peers) find(ctx context.Context, needed bool) {
	var found map[string]Process
	var err error
	if needed {
		found, err = o.Peers()
	}
	if err != nil {
		o.Log.Warn("other podctl processes are not found: their Services are those of their last answers", "err", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, k := range o.known {
		if _, lives := found[key]; lives || err != nil {
			continue
		}
		if k.stop != nil {
			k.stop()
			k.stop = nil
		}
		if k.At.IsZero() || filepath.Dir(key) != filepath.Dir(o.Socket) {
			delete(o.known, key)
		}
	}
	for key, p := range found {
		k := o.known[key]
		if k == nil {
			k = &peer{Name: p.Name}
			o.known[key] = k
		}
		if k.stop == nil {
			var asking context.Context
			asking, k.stop = context.WithCancel(ctx)
			go o.ask(asking, k, p)
		}
	}
}

// ask asks a process each period until ctx ends.
func (o *peers) ask(ctx context.Context, k *peer, p Process) {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, askTimeout)
		v, err := p.Ask(limit)
		cancel()
		o.record(ctx, k, v.withoutNil(), err)
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
}

func (o *peers) record(ctx context.Context, k *peer, v View, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil { // it has exited
		return
	}
	// A process that has restarted adopts its pods first.
	restarted := k.Last.Settled && !v.Settled && time.Since(k.At) < adoptionWait
	was := *k
	if k.silent = err != nil || restarted; !k.silent {
		k.Last, k.At = v, time.Now()
	}
	if k.silent != was.silent || !reflect.DeepEqual(k.Last, was.Last) {
		o.changed()
	}
}

// withoutNil returns the view without the objects that its JSON has as null.
func (v View) withoutNil() View {
	v.Services = slices.DeleteFunc(v.Services, func(s *v1.Service) bool { return s == nil })
	v.Slices = slices.DeleteFunc(v.Slices, func(s *discoveryv1.EndpointSlice) bool { return s == nil })
	v.Pods = slices.DeleteFunc(v.Pods, func(p *v1.Pod) bool { return p == nil })
	return v
}

// unanswered returns the processes that have not answered yet.
func (o *peers) unanswered() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.known {
		if k.stop != nil && k.At.IsZero() {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

// findServer returns why this process does not know the one that serves, "" if it does, and whether all had the time to
// answer.
func (o *peers) findServer() (problem string, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	problem = "port 53 of " + DNSAddress + " is bound by a process that is no podctl of this run directory"
	for _, k := range o.known {
		switch {
		case k.Last.Serving && k.stop != nil:
			return "", true
		case k.At.IsZero() && !k.silent:
			return "", false
		case k.At.IsZero():
			problem = fmt.Sprintf("port 53 of %s is bound, perhaps by podctl %q, which does not answer", DNSAddress, k.Name)
		}
	}
	return problem, true
}

// inputs returns what the processes contribute, own first. What a process said that does not answer is stale. Of one
// that has exited the pods count that run and that no other process has, and while there is one its Services of which
// no other process has one.
func (o *peers) inputs(own Input) []Input {
	all := []Input{own}
	o.mu.Lock()
	defer o.mu.Unlock()
	keys := slices.Sorted(maps.Keys(o.known))
	for _, key := range keys {
		if k := o.known[key]; k.stop != nil && !k.At.IsZero() {
			all = append(all, k.input())
		}
	}
	listed := sync.OnceValue(o.Running)
	for _, key := range keys {
		k := o.known[key]
		if k.stop != nil {
			continue
		}
		running := listed()
		in := k.input().without(all)
		in.Pods = slices.DeleteFunc(in.Pods, func(p *v1.Pod) bool { return running != nil && !running[p.UID] })
		if len(in.Pods) > 0 {
			all = append(all, in)
		} else if running != nil {
			delete(o.known, key)
		}
	}
	return all
}

func (k *peer) input() Input {
	in := k.Last.Input
	if k.silent || k.stop == nil {
		in.Stale = fmt.Sprintf("podctl %q does not answer: what it said at %s counts", k.Name, k.At.Format(time.TimeOnly))
	}
	return in
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
