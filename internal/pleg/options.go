package pleg

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Runtime is what the PLEG needs of a CRI runtime. Every call should end
// when its context does.
type Runtime interface {
	// ListPods returns every pod that the runtime holds anything of.
	ListPods(ctx context.Context) ([]*pod.Pod, error)
	// ListPod returns one of them; nil and no error if the runtime holds nothing of it.
	ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error)
	// PodStatus reads the statuses of the sandboxes and containers that p names.
	PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error)
	// Hints subscribes to the runtime's events, calls opened when it has, then
	// each for every event, which never blocks. It returns when the stream
	// ends; with an error that is errors.ErrUnsupported where there is none.
	Hints(ctx context.Context, opened func(), each func(pod.Hint)) error
}

// Options of a PLEG. The zero value is the kubelet's behaviour: a relist
// every second.
type Options struct {
	// Period is the time between two full relists, from the end of one to the
	// start of the next. 0: 1 s.
	Period time.Duration
	// HintedPeriod replaces Period while hints are proved. 0: 10 s. It is cut
	// to a third of Threshold.
	HintedPeriod time.Duration
	// HintsOnly leaves to full relists only the catching up when the hint
	// stream opens and ends, and a safety net every third of Threshold: what
	// one sees who believes a runtime's events.
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
	// Broadcasts tells whether the runtime is known to give each of its
	// events to every subscriber. It is asked before each subscription and may
	// block. nil: it is not known, and hints never replace the period.
	Broadcasts func(context.Context) bool
	// Log is where failures and changes of the hint stream go. nil: nowhere.
	Log *slog.Logger
	// Observer is told what happens. nil: nobody is.
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
		o.Observer = nobody{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Observer is told what the PLEG does, for metrics. Its methods must not
// block and may be called from several goroutines.
type Observer interface {
	// Relisted: a full relist's list call has returned. interval is the time
	// between its start and that of the one before, 0 for the first.
	Relisted(took, interval time.Duration, err error)
	// PodRelisted: the list call of a single pod's relist has returned.
	// changed tells whether it was needed: it found a change.
	PodRelisted(source Source, took time.Duration, changed bool, err error)
	// StatusRead: the reading of a pod's status has ended.
	StatusRead(took time.Duration, err error)
	// Hinted: an event has come. latency is its age, backlog tells that it is
	// older than the subscription.
	Hinted(latency time.Duration, backlog bool)
	// HintStream: the stream has opened (nil) or ended (never nil).
	HintStream(err error)
}

type nobody struct{}

func (nobody) Relisted(time.Duration, time.Duration, error)   {}
func (nobody) PodRelisted(Source, time.Duration, bool, error) {}
func (nobody) StatusRead(time.Duration, error)                {}
func (nobody) Hinted(time.Duration, bool)                     {}
func (nobody) HintStream(error)                               {}
