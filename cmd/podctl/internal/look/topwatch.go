package look

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/usage"
)

// follow prints the list at each interval until ctx ends: on a terminal in place of
// the last one, else below it.
func (t *top) follow(ctx context.Context) error {
	ticks := time.NewTicker(t.opts.interval)
	defer ticks.Stop()
	screen := topScreen{top: t, stream: t.opts.format.NewStream(t.env.Out)}
	var last *usage.Snapshot
	outage := shell.Outage{Env: t.env}
	for first := true; ; first = false {
		selected, now, err := t.next(ctx, first)
		switch {
		case ctx.Err() != nil:
			return nil
		case !first && outage.Ongoing(err):
			last = nil // what was used meanwhile is not known
		case err != nil:
			return err
		default:
			if last != nil {
				if err := screen.print(t.items(selected, *last, now)); err != nil {
					return err
				}
			}
			last = &now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// next lists the runtime again, but for the first time, and samples it.
func (t *top) next(ctx context.Context, first bool) ([]measured, usage.Snapshot, error) {
	if !first {
		if err := t.session.List(ctx); err != nil {
			return nil, usage.Snapshot{}, err
		}
	}
	// A pod that is named may not exist yet, or any more.
	selected, err := t.selectTargets()
	if err != nil && !target.OnlyErrors(err, target.IsGone) {
		return nil, usage.Snapshot{}, err
	}
	now, err := t.sample(ctx, selected)
	return selected, now, err
}

// topScreen prints one list after the other.
type topScreen struct {
	*top
	stream *output.Stream
	// rows is the height of what stands on the terminal.
	rows int
}

func (s *topScreen) print(items []topItem) error {
	list := topList(s.opts.containers, items)
	if !s.opts.format.IsTable() {
		for _, i := range list.Items {
			if err := s.stream.Print(i.Name, i.Data); err != nil {
				return err
			}
		}
		return nil
	}
	width, height := 0, 0
	if s.env.TTY {
		width, height = s.env.Size()
	}
	more, note := "", s.psiNote(items)
	// The cursor, the time and the header have a line each.
	if room := height - 4 - strings.Count(note, "\n"); height > 0 && len(list.Items) > room+1 && room > 0 {
		more = fmt.Sprintf("and %d more\n", len(list.Items)-room)
		list.Items = list.Items[:room]
	}
	if s.opts.format.Width = width; s.opts.NoTrunc {
		s.opts.format.Width = 0
	}
	var text bytes.Buffer
	if err := s.opts.format.Print(&text, list); err != nil {
		return err
	}
	at := s.env.Now().Format(time.TimeOnly)
	if len(items) == 0 {
		at += "  " + s.empty()
	}
	s.draw(at + "\n" + text.String() + more + note)
	return nil
}

// draw prints a list on a terminal in place of the last one, else below it after an
// empty line.
func (s *topScreen) draw(text string) {
	if !s.env.TTY {
		fmt.Fprintln(s.env.Out, text)
		return
	}
	if s.rows > 0 {
		// The terminal may have echoed a ^C, so first back to the left.
		fmt.Fprintf(output.Raw(s.env.Out), "\r\x1b[%dA\x1b[J", s.rows)
	}
	s.rows = strings.Count(text, "\n")
	fmt.Fprint(s.env.Out, text)
}
