package tape

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// PlayOptions of a replay. The zero value replays as fast as possible, without reporting events.
type PlayOptions struct {
	// Events receives the events as they occur, with the time of the recording.
	Events func(now time.Time, events []pleg.Event)
	// Wait is called before the clock advances to that time; an error ends the replay. nil: no
	// waiting.
	Wait     func(ctx context.Context, until time.Time) error
	Observer pleg.Observer
	Log      *slog.Logger
}

// Play runs a PLEG on a tape, from its beginning to its end, with the clock of the recording. The
// PLEG relists whenever the tape has new answers, so that it misses nothing that is recorded. An
// event of the runtime reaches it with the first answers after the event. It returns how many
// changes were found that no event had told of, as pleg.PLEG.Unhinted.
func Play(ctx context.Context, s *Server, o PlayOptions) (unhinted int, err error) {
	p := &player{opts: o, server: s, now: s.tape.Header.Start}
	client, err := cri.Connect(ctx, cri.Options{
		Endpoint: cri.Endpoint{Runtime: cri.TapeScheme + "played"}, Dial: s.Dial, Log: o.Log, Now: func() time.Time { return p.now },
	})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	p.s = pleg.NewStepper(ctx, client, pleg.Options{Observer: o.Observer, Log: o.Log})
	p.events = p.s.Subscribe()
	err = p.play(ctx)
	return p.s.Unhinted(), err
}

// player is a replay in progress.
type player struct {
	opts   PlayOptions
	server *Server
	s      *pleg.Stepper
	events *pleg.Subscription
	now    time.Time
	// hints are events that the PLEG has not been told of. opened: their stream is open.
	hints  []pod.Hint
	opened bool
}

func (p *player) play(ctx context.Context) error {
	calls := p.server.tape.calls
	for i, c := range calls {
		if c.Method == methods()[eventsCall].full {
			if err := p.addEvent(c); err != nil {
				return err
			}
			continue
		}
		if i+1 < len(calls) && calls[i+1].At.Equal(c.At) && calls[i+1].Method != methods()[eventsCall].full {
			continue // more is of the same time
		}
		if err := p.step(ctx, c.At); err != nil {
			return err
		}
	}
	return p.step(ctx, p.server.tape.End())
}

// addEvent takes an event of the runtime, or the end of their stream.
func (p *player) addEvent(c Call) error {
	if c.Status != nil {
		p.opened = false
		switch c.Status.Code() {
		case codes.OK:
			p.s.HintsEnded(c.At, io.EOF)
		case codes.Unimplemented:
			p.s.HintsEnded(c.At, errors.ErrUnsupported)
		default:
			p.s.HintsEnded(c.At, c.Status.Err())
		}
		return nil
	}
	var event runtimeapi.ContainerEventResponse
	if err := proto.Unmarshal(c.Response, &event); err != nil {
		return err
	}
	if !p.opened {
		p.opened = true
		p.s.HintsOpened(c.At, true) // a Recorder subscribes to no other runtimes
	}
	p.hints = append(p.hints, cri.HintOf(&event))
	return nil
}

// step advances the clock to a time, and has the PLEG see what the runtime had answered by then:
// first the pods of the events, then all.
func (p *player) step(ctx context.Context, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.opts.Wait != nil && at.After(p.now) {
		if err := p.opts.Wait(ctx, at); err != nil {
			return err
		}
	}
	p.now = at
	p.server.SetTime(at)
	for _, h := range p.hints {
		p.s.Hint(at, h)
	}
	p.hints = nil
	p.settle()
	p.s.Relist(at, "", pleg.FromRelist)
	p.settle()
	if events := p.events.Take(); len(events) > 0 && p.opts.Events != nil {
		p.opts.Events(at, events)
	}
	return nil
}

// settle has the PLEG do what is due, and its calls return, until it waits for time to pass.
func (p *player) settle() {
	for {
		p.s.Step(p.now)
		started := p.s.Started()
		if len(started) == 0 {
			return
		}
		for _, c := range started {
			p.s.Return(p.now, c)
		}
	}
}
