package look

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/serve/journal"
)

// eventWatch prints events as they are recorded.
type eventWatch struct {
	env    *shell.Env
	opts   eventsOptions
	reader *journal.Reader
	table  *output.Table
	stream *output.Stream
}

// journalPeriod is the poll interval of the journal.
const journalPeriod = 250 * time.Millisecond

func (w *eventWatch) run(ctx context.Context, entries []journal.Entry) error {
	shell.Settle()
	w.table = output.NewTable(eventHeader, 3, len(eventHeader)-1)
	for column, typical := range []string{"10m30s (x12 over 12m30s)", journal.Warning, "ContainerStarted", "default/a-pod/container"} {
		w.table.Expect(column, typical)
	}
	if w.opts.Format.IsTable() && !w.opts.Format.NoHeaders {
		if err := w.write(w.table.Header(w.width())); err != nil {
			return err
		}
	}
	tick := time.NewTicker(journalPeriod)
	defer tick.Stop()
	for {
		if err := w.print(entries); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var err error
		if entries, err = w.reader.Next(); err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		if entries, err = w.opts.Select(entries); err != nil {
			entries = nil // none is about a pod of the query
		}
	}
}

// print prints the entries, those that are read at once counted.
func (w *eventWatch) print(entries []journal.Entry) error {
	for _, s := range journal.GroupBySeries(entries) {
		d := newEventData(s)
		if !w.opts.Format.IsTable() {
			if err := w.stream.Print(d.Object.String(), d); err != nil {
				return err
			}
			continue
		}
		if err := w.write(w.table.Row(eventCells(d, w.env.Now()), w.width())); err != nil {
			return err
		}
	}
	return nil
}

func (w *eventWatch) width() int { return w.env.TableWidth(w.opts.NoTrunc) }

func (w *eventWatch) write(line string) error {
	_, err := io.WriteString(w.env.Out, line+"\n")
	return err
}
