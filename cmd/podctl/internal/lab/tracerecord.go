package lab

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/cmd/podctl/internal/node"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/tape"
)

// recording is the recording of a trace, nil for a trace without one: all that the runtime
// answers at its beginning and its end, and the answers that pass in between.
type recording struct {
	*node.Recording
	env      *shell.Env
	observer *tape.Observer
}

func startRecording(ctx context.Context, e *shell.Env, o traceOptions) (*recording, error) {
	if o.record == "" {
		return nil, nil
	}
	r, err := node.StartRecording(ctx, e, o.Globals, o.record)
	if err != nil {
		return nil, err
	}
	if err := e.UntilInterrupted(ctx, r.Snapshot); err != nil {
		_, err = r.Finish(ctx, err)
		return nil, err
	}
	return &recording{r, e, &tape.Observer{Writer: r.Writer, Now: e.Now}}, nil
}

// observes returns the observer of a trace that is recorded.
func (r *recording) observes(s *session) relay.Observer {
	if r == nil {
		return s
	}
	return teeObserver{s, r.observer}
}

// finish writes the recording, and says so.
func (r *recording) finish(ctx context.Context) error {
	if r == nil {
		return nil
	}
	err := r.observer.Err()
	if err == nil {
		err = r.env.UntilInterrupted(ctx, r.Snapshot)
	}
	summary, err := r.Finish(ctx, err)
	if err == nil {
		fmt.Fprintln(r.env.Errw, summary.Text(true))
	}
	return err
}

// teeObserver passes what a relay observes to two observers, in order.
type teeObserver [2]relay.Observer

func (b teeObserver) Began(c *relay.Call) {
	b[0].Began(c)
	b[1].Began(c)
}

func (b teeObserver) Message(c *relay.Call, from relay.Side, m relay.Message) {
	b[0].Message(c, from, m)
	b[1].Message(c, from, m)
}

func (b teeObserver) Ended(c *relay.Call) {
	b[0].Ended(c)
	b[1].Ended(c)
}

func (b teeObserver) Missed(m relay.Missed) {
	b[0].Missed(m)
	b[1].Missed(m)
}
