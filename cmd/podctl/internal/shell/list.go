package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
)

// ListOptions are the options of the commands that list objects.
type ListOptions struct {
	Format output.Format
	Watch  bool
	// Full does not cut tables to the terminal.
	Full bool
	// Period is the poll interval of Watch, a second if it is 0.
	Period time.Duration
}

// ListFlags are the flags that ReadList reads.
func ListFlags() []cli.Flag {
	watch := &cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "print the list again each time it changes; in a pipe or a data format, what changed"}
	return append([]cli.Flag{watch}, FormatFlags()...)
}

// FormatFlags are those of ListFlags without --watch.
func FormatFlags() []cli.Flag {
	return []cli.Flag{
		NoHeadersFlag(),
		&cli.StringFlag{Name: "sort-by", DefaultText: "the order of the table", Usage: "sort by this `JSONPATH` into an object of -o json"},
	}
}

// ReadList reads the flags of ListFlags; an error is one of usage.
func ReadList(c *cli.Context) (ListOptions, error) {
	g := ReadGlobals(c)
	format, err := ReadOutput(c)
	if err != nil {
		return ListOptions{}, err
	}
	err = SortBy(&format, c.String("sort-by"))
	return ListOptions{Format: format, Watch: c.Bool("watch"), Full: g.NoTrunc}, err
}

// SortBy sets what a format is sorted by; an error is one of usage.
func SortBy(format *output.Format, path string) error { return asUsage(format.SortBy(path)) }

// listFunc returns what is to be listed. With an error, what is known in spite
// of it.
type listFunc func(context.Context) (output.List, error)

// Show prints a list once or, with --watch, until an interrupt. empty is what
// is said of an empty table.
func (o ListOptions) Show(ctx context.Context, e *Env, empty string, list listFunc) error {
	o.Format.Width = e.TableWidth(o.Full)
	if o.Watch {
		return o.watchList(ctx, e, empty, list)
	}
	l, err := list(ctx)
	if err != nil && len(l.Items) == 0 {
		return err
	}
	if len(l.Items) == 0 && o.Format.IsTable() {
		fmt.Fprintln(e.Errw, empty)
	}
	return errors.Join(o.Format.Print(e.Out, l), err)
}

// UntilInterrupted does what the first interrupt cancels. It is how a watch
// ends, and then not an error.
func (o ListOptions) UntilInterrupted(ctx context.Context, e *Env, do func(context.Context) error) error {
	err := e.UntilInterrupted(ctx, do)
	if o.Watch && errors.Is(err, ErrInterrupted) {
		return nil
	}
	return err
}

// watchList prints a list each time it changes, until ctx ends: on a terminal in
// place of the last one; else the row, or the object, of each that changed. It
// goes on while a runtime that has answered is restarted.
func (o ListOptions) watchList(ctx context.Context, e *Env, empty string, list listFunc) error {
	Settle()
	ticks := time.NewTicker(cmp.Or(o.Period, time.Second))
	defer ticks.Stop()
	shown, stream, rows := map[string]string{}, o.Format.NewStream(e.Out), o.Format.NewRowStream(e.Out)
	last := "never printed"
	outage := Outage{Env: e}
	for first := true; ; first = false {
		l, err := list(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case !first && outage.Ongoing(err):
		case err != nil:
			return err
		case !o.Format.IsTable() || !e.TTY:
			var changed []output.Item
			if o.Format.IsTable() && len(l.Items) == 0 && (first || len(shown) > 0) {
				fmt.Fprintln(e.Errw, empty)
			}
			if shown, changed, err = changes(l, shown); err != nil {
				return err
			}
			if o.Format.IsTable() {
				err = rows.Print(l, changed)
			} else {
				err = printAll(stream, changed)
			}
			if err != nil {
				return err
			}
		default:
			var text bytes.Buffer
			if err := o.Format.Print(&text, l); err != nil {
				return err
			}
			if text.String() != last {
				last = text.String()
				printScreen(e, last, empty)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// changes returns the items whose objects are not shown as they are now, and what is shown
// once they are. An age is no change.
func changes(l output.List, shown map[string]string) (now map[string]string, changed []output.Item, err error) {
	now = map[string]string{}
	for _, i := range l.Items {
		var line bytes.Buffer
		if err := output.JSONLine(&line, i.Data); err != nil {
			return nil, nil, err
		}
		now[i.Name] = line.String()
		if shown[i.Name] != now[i.Name] {
			changed = append(changed, i)
		}
	}
	return now, changed, nil
}

func printAll(stream *output.Stream, items []output.Item) error {
	for _, i := range items {
		if err := stream.Print(i.Name, i.Data); err != nil {
			return err
		}
	}
	return nil
}

// printScreen prints a list on a terminal in place of the last one.
func printScreen(e *Env, text, empty string) {
	fmt.Fprint(output.Raw(e.Out), "\x1b[H\x1b[2J")
	at := e.Now().Format(time.TimeOnly)
	if text == "" {
		at += "  " + empty
	}
	fmt.Fprintf(e.Out, "%s\n%s", at, text)
}

// Outage lets a watching command tolerate a restart of the runtime. The zero value with Env is ready
// to use.
type Outage struct {
	Env *Env
	// ongoing: the runtime did not answer the last call.
	ongoing bool
}

// Ongoing reports whether err is that of a runtime that does not answer, as during a restart, and
// prints a warning for the first such error. Any other error, and nil, ends the outage.
func (o *Outage) Ongoing(err error) bool {
	if !errors.Is(err, cri.ErrUnavailable) && !errors.Is(err, cri.ErrDeadline) {
		o.ongoing = false
		return false
	}
	if !o.ongoing {
		fmt.Fprintf(o.Env.Errw, "warning: the runtime does not answer, and is asked again: %v\n", err)
	}
	o.ongoing = true
	return true
}
