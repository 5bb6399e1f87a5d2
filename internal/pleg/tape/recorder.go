package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// Recorder is a runtime that records the answers of the runtime behind it. A
// failed write is an error of the tape, never one of a call.
type Recorder struct {
	rt  pleg.Runtime
	now func() time.Time

	mu     sync.Mutex
	w      io.Writer // nil before Begin, after End, and after an error
	start  time.Time
	last   int64
	calls  int
	full   []byte // the last answer of a ListPods, as it was written
	count  Count
	err    error
	failed chan struct{}
}

// Count is the size of a tape.
type Count struct {
	// Relists are the lists of all pods, PodRelists those of one.
	Relists, PodRelists int
	Statuses, Hints     int
	// Errors are those of these calls that failed.
	Errors int
	// Bytes is the size of the tape, the time that it spans Span.
	Bytes int64
	Span  time.Duration
}

var _ pleg.Runtime = (*Recorder)(nil)

// NewRecorder returns a recorder of the runtime; it records nothing before Begin.
func NewRecorder(rt pleg.Runtime, now func() time.Time) *Recorder {
	return &Recorder{rt: rt, now: now, failed: make(chan struct{})}
}

// Begin writes the header. Its Format, Version and Start are set here. From
// now on each line is written with one Write, so that in a truncated tape only
// the last line can be incomplete.
func (r *Recorder) Begin(w io.Writer, h Header) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w, r.start = w, r.now()
	h.Format, h.Version, h.Start = formatName, formatVersion, r.start.UTC()
	r.write(h)
	return r.err
}

// End completes the tape. Later calls are not recorded. It returns the first
// error of writing.
func (r *Recorder) End() (Count, error) {
	r.record(func() entry { return entry{Do: kindEnd} })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w = nil
	return r.count, r.err
}

// Failed is closed when the tape could not be written: End returns why.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// record writes an entry, and sets its time. It is made under the lock.
func (r *Recorder) record(make func() entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil {
		return
	}
	r.last = max(r.last, r.now().Sub(r.start).Nanoseconds())
	r.count.Span = time.Duration(r.last)
	e := make()
	e.T = r.last
	r.write(e)
}

func (r *Recorder) write(line any) {
	text, err := json.Marshal(line)
	if err == nil {
		var n int
		n, err = r.w.Write(append(text, '\n'))
		r.count.Bytes += int64(n)
	}
	if err != nil {
		r.w, r.err = nil, fmt.Errorf("write recording: %w", err)
		close(r.failed)
	}
}

func (r *Recorder) beginCall(op string, uid types.UID) (n int) {
	r.record(func() entry {
		r.calls++
		n = r.calls
		return entry{Do: kindCall, N: n, Op: op, UID: uid}
	})
	return n
}

// endCall records that call number n has returned; 0 is one that began before
// there was a tape.
func (r *Recorder) endCall(n int, counter *int, err error, ok func(*entry)) {
	if n == 0 {
		return
	}
	r.record(func() entry {
		e := entry{Do: kindAnswer, N: n}
		*counter++
		if err != nil {
			r.count.Errors++
			e.Error = errorText(err)
		} else {
			ok(&e)
		}
		return e
	})
}

// ListPods is the runtime's, recorded.
func (r *Recorder) ListPods(ctx context.Context) ([]*pod.Pod, error) {
	n := r.beginCall(opList, "")
	pods, err := r.rt.ListPods(ctx)
	r.endCall(n, &r.count.Relists, err, func(e *entry) {
		e.Pods = fromPods(pods)
		full, err := json.Marshal(e.Pods)
		if err == nil && bytes.Equal(full, r.full) {
			e.Pods, e.Same = nil, true
		}
		r.full = full
	})
	return pods, err
}

// ListPod is the runtime's, recorded.
func (r *Recorder) ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error) {
	n := r.beginCall(opPod, uid)
	p, err := r.rt.ListPod(ctx, uid)
	r.endCall(n, &r.count.PodRelists, err, func(e *entry) {
		if p != nil {
			e.Pods = []podLine{fromPod(p)}
		}
	})
	return p, err
}

// PodStatus is the runtime's, recorded.
func (r *Recorder) PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	n := r.beginCall(opStatus, p.UID)
	st, err := r.rt.PodStatus(ctx, p)
	r.endCall(n, &r.count.Statuses, err, func(e *entry) { e.Status = fromStatus(st) })
	return st, err
}

// Hints is the runtime's, recorded.
func (r *Recorder) Hints(ctx context.Context, opened func(), each func(pod.Hint)) error {
	err := r.rt.Hints(ctx, func() {
		r.record(func() entry { return entry{Do: kindOpened} })
		opened()
	}, func(h pod.Hint) {
		r.record(func() entry {
			r.count.Hints++
			return entry{Do: kindHint, Hint: fromHint(h)}
		})
		each(h)
	})
	r.record(func() entry {
		e := entry{Do: kindClosed, Unsupported: errors.Is(err, errors.ErrUnsupported)}
		if err != nil {
			e.Error = errorText(err)
		}
		return e
	})
	return err
}
