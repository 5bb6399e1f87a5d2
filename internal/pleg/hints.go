package pleg

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

const (
	// The hint stream is opened again after the first of these times, which
	// doubles up to the second; at once when the runtime answers again.
	hintBackoff    = 250 * time.Millisecond
	hintBackoffMax = 30 * time.Second
	// unsupportedRetry is the time after which podctl subscribes again to a
	// runtime without events.
	unsupportedRetry = 5 * time.Minute
	// A stream that ends without an event within this time counts as
	// unsupported: so do some runtimes answer whose events are disabled.
	endsAtOnce = time.Second
)

// listen keeps the hint stream open until ctx ends. It only fills the inbox,
// which never blocks: a runtime may block on a slow reader.
func (p *PLEG) listen(ctx context.Context) {
	wait := hintBackoff
	for ctx.Err() == nil {
		lived, err := p.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		p.hintsEnded(err)
		p.opts.Log.Info("no hints", "op", "Hints", "lived", lived, "err", err)
		pause := wait
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			pause = unsupportedRetry
		case lived > hintBackoffMax:
			wait, pause = hintBackoff, hintBackoff
		default:
			wait = min(2*wait, hintBackoffMax)
		}
		select {
		case <-ctx.Done():
		case <-p.recovered:
		case <-time.After(pause):
		}
	}
}

// listenOnce opens the stream and reads it to its end, which is never without
// an error. lived is how long it was open.
func (p *PLEG) listenOnce(ctx context.Context) (lived time.Duration, err error) {
	broadcast := p.opts.Broadcasts(ctx)
	began := p.opts.Now()
	empty := true
	err = p.rt.Notices(ctx, func() {
		began = p.opts.Now()
		p.hintsOpened(began, broadcast)
	}, func(h pod.Notice) {
		empty = false
		p.hinted(h)
	})
	lived = p.opts.Now().Sub(began)
	switch {
	case err == nil && empty && lived < endsAtOnce:
		err = errors.ErrUnsupported
	case err == nil:
		err = io.EOF
	}
	return lived, err
}

func (p *PLEG) hintsOpened(now time.Time, broadcast bool) {
	p.inbox.streamOpened(now, broadcast)
	p.streamTried()
	p.health.setHints(HintState{Open: true, Since: now})
	p.opts.Observer.HintStream(nil)
}

func (p *PLEG) streamTried() {
	select {
	case p.tried <- struct{}{}:
	default:
	}
}

func (p *PLEG) hinted(h pod.Notice) {
	p.opts.Observer.Hinted(p.opts.Now().Sub(h.Created), p.inbox.addHint(h))
}

func (p *PLEG) hintsEnded(err error) {
	p.inbox.streamClosed()
	p.streamTried()
	p.health.setHints(HintState{Since: p.opts.Now(), Err: err})
	p.opts.Observer.HintStream(err)
}
