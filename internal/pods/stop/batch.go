package stop

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
)

// Batch asks one question for several callers at a time. A caller gets an answer to a
// question that was put after it called: while one is being answered, callers wait, and the
// next one is put for all of them. The zero value is ready. A Batch is safe for concurrent
// use.
type Batch[K, V any] struct {
	mu sync.Mutex
	// asking: a goroutine puts questions.
	asking bool
	// next has not been put yet; nil if nobody waits for it.
	next *question[K, V]
}

// question is what several callers want to know.
type question[K, V any] struct {
	about  []K
	done   chan struct{} // closed once answer and err are set
	answer V
	err    error
}

// Ask returns the answer of ask to a question about this and what other callers ask about.
// ctx is the command's: it ends the question for all of them.
func (b *Batch[K, V]) Ask(ctx context.Context, about K, ask func(ctx context.Context, about []K) (V, error)) (V, error) {
	q := b.join(about)
	if b.startAsking() {
		go func() {
			for q := b.take(); q != nil; q = b.take() {
				if q.err = ctx.Err(); q.err == nil {
					q.answer, q.err = ask(ctx, q.about)
				}
				close(q.done)
			}
		}()
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// join adds to the next question.
func (b *Batch[K, V]) join(about K) *question[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &question[K, V]{done: make(chan struct{})}
	}
	b.next.about = append(b.next.about, about)
	return b.next
}

// startAsking reports whether the caller has to put the questions: nobody does.
func (b *Batch[K, V]) startAsking() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	started := !b.asking && b.next != nil
	b.asking = b.asking || started
	return started
}

// take returns the next question, nil if there is none: nobody puts questions then.
func (b *Batch[K, V]) take() *question[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.next
	b.next, b.asking = nil, q != nil
	return q
}

// Terminator terminates and removes pods that no podctl process runs. It is safe for
// concurrent use.
type Terminator struct {
	Client *cri.Client
	// Names locks the names of pods meanwhile.
	Names *Names
	// Leftovers are removed with the containers of pods that podctl created.
	Leftovers host.Leftovers
}

// Request is a pod to terminate.
type Request struct {
	UID             types.UID
	Namespace, Name string
	// Ours: podctl created the pod or its directory, or may have. A podctl process that waits
	// with the name of another one locked is no obstacle.
	Ours bool
	// RemoveFiles: what the pod left on the host is podctl's, and removed with it.
	RemoveFiles bool
	// Look returns the pod as it is once its name is locked; nil if the runtime has
	// nothing of it. An error ends the termination before any call.
	Look func(context.Context) (*pod.Pod, error)
	cri.TerminateOptions
}

// Terminate locks the pod's name, looks at the pod again, and terminates it. With Remove,
// what the pod left on the host is removed, too.
func (t *Terminator) Terminate(ctx context.Context, r Request) (err error) {
	release, err := t.Names.Lock(r.Namespace, r.Name, r.Ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	p, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if p != nil {
		if err := t.Client.TerminatePod(ctx, p, r.TerminateOptions); err != nil {
			return err
		}
	}
	if !r.Remove || !r.RemoveFiles {
		return nil
	}
	leftovers := t.Leftovers
	leftovers.Step, leftovers.DryRun = r.Step, r.DryRun
	return leftovers.Remove(ctx, r.UID, r.Namespace, r.Name)
}
