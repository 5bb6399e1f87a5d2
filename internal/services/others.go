package services

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
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
)

// others knows the last answer of each podctl process that lives: the pods of a suspended process run on.
// It is safe for concurrent use.
type others struct {
	// find returns the other processes, by a key that is unique among them.
	find func() (map[string]Process, error)
	log  *slog.Logger
	// slots bounds how many are asked at a time.
	slots chan struct{}

	mu    sync.Mutex
	known map[string]*other
}

// other is one process.
type other struct {
	name string
	// view is its answer at the time at, which is zero before the first.
	view View
	at   time.Time
	// asking ends when it has answered; nil while it is not asked.
	asking chan struct{}
	// silent: it did not answer the last time, or has not yet.
	silent bool
}

func newOthers(find func() (map[string]Process, error), log *slog.Logger) *others {
	return &others{find: find, log: log, slots: make(chan struct{}, askAtOnce), known: map[string]*other{}}
}

// ask asks all processes, and forgets those that have exited. It returns before those have answered that
// did not answer the last time.
func (o *others) ask(ctx context.Context) {
	found, err := o.find()
	if err != nil {
		o.log.Warn("other podctl processes are not found: their Services are those of their last answers", "err", err)
	}
	o.mu.Lock()
	if err == nil {
		maps.DeleteFunc(o.known, func(key string, _ *other) bool { _, lives := found[key]; return !lives })
	}
	var waits []*other
	for key, p := range found {
		k := o.known[key]
		if k == nil {
			k = &other{name: p.Name}
			o.known[key] = k
		}
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

func (o *others) askOne(ctx context.Context, k *other, p Process) {
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
	if k.silent = err != nil; err == nil {
		k.view, k.at = v, time.Now()
	}
	close(k.asking)
	k.asking = nil
}

// views returns the last answers, by the processes' keys, and who has never answered. What a process said that
// does not answer now is stale.
func (o *others) views() (all []View, unheard []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(o.known)) {
		k := o.known[key]
		if k.at.IsZero() {
			unheard = append(unheard, k.name)
			continue
		}
		v := k.view
		if k.silent {
			v.Stale = fmt.Sprintf("podctl %q does not answer: what it said at %s counts", k.name, k.at.Format(time.TimeOnly))
		}
		all = append(all, v)
	}
	return all, unheard
}
