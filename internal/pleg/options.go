package pleg

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Runtime is what the PLEG needs from a CRI runtime. Every call should return
// when its context ends.
type Runtime interface {
	// ListPods returns every pod that the runtime holds anything of.
	ListPods(ctx context.Context) ([]*pod.Pod, error)
	// ListPod returns one of them; nil and no error if the runtime holds nothing of it.
	ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error)
	// PodStatus reads the statuses of the sandboxes and containers that p names.
	PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error)
	// Notices subscribes to the runtime's events, calls opened when it has, then
	// each for every event, which never blocks. It returns when the stream
	// ends; with an error that is errors.ErrUnsupported where there is none.
	Notices(ctx context.Context, opened func(), each func(pod.Notice)) error
}

// Options of a PLEG. The zero value is the kubelet's behaviour: a relist
// every second.
type Options struct {
	// Period is the time between two full relists, from the end of one to the
	// start of the next. 0: 1 s.
	Period time.Duration
	// HintedPeriod replaces Period while hints are proven. 0: 10 s. It is cut
	// to a third of Threshold.
	HintedPeriod time.Duration
	// HintsOnly limits full relists to catching up when the hint stream opens
	// and ends, and to a safety net every third of Threshold. It shows what a
	// PLEG detects that relies on the runtime's events.
	HintsOnly bool
	// Threshold is the age from which the last full relist, or a call in
	// flight, is unhealthy. 0: 3 min.
	Threshold time.Duration
	// CallDeadline is how long the relist of one pod, or the reading of its
	// status, may take. 0: 10 s.
	CallDeadline time.Duration
	// Parallel bounds the relists of single pods and the status reads that
	// are in flight together. 0: 16.
	Parallel int
	// Broadcasts reports whether the runtime is known to deliver each event to
	// every subscriber. It is called before each subscription and may block.
	// nil: unknown, and hints never replace the period.
	Broadcasts func(context.Context) bool
	// Log receives failures and changes of the hint stream. nil: none.
	Log *slog.Logger
	// Observer observes the PLEG. nil: none.
	Observer Observer
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Period = cmp.Or(o.Period, time.Second)
	o.Threshold = cmp.Or(o.Threshold, 3*time.Minute)
	o.HintedPeriod = max(o.Period, min(cmp.Or(o.HintedPeriod, 10*time.Second), o.Threshold/3))
	o.CallDeadline = cmp.Or(o.CallDeadline, 10*time.Second)
	o.Parallel = cmp.Or(o.Parallel, 16)
	if o.Broadcasts == nil {
		o.Broadcasts = func(context.Context) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Observer observes the PLEG, for metrics. Its methods must not block and may be
// called concurrently.
type Observer interface {
	// Relisted: a full relist's list call has returned. interval is the time
	// between its start and that of the one before, 0 for the first.
	Relisted(took, interval time.Duration, err error)
	// PodRelisted: the list call of a single pod's relist has returned.
	// changed: it found a change.
	PodRelisted(source Source, took time.Duration, changed bool, err error)
	// StatusRead: reading a pod's status has finished.
	StatusRead(took time.Duration, err error)
	// Hinted: an event was received. latency is its age; backlog: it is older
	// than the subscription.
	Hinted(latency time.Duration, backlog bool)
	// HintStream: the stream has opened (nil) or ended (never nil).
	HintStream(err error)
}

type noObserver struct{}

func (noObserver) Relisted(time.Duration, time.Duration, error)   {}
func (noObserver) PodRelisted(Source, time.Duration, bool, error) {}
func (noObserver) StatusRead(time.Duration, error)                {}
func (noObserver) Hinted(time.Duration, bool)                     {}
func (noObserver) HintStream(error)                               {}
