package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/journal"
	"github.com/podctl/podctl/internal/sys/hint"
)

// eventsOptions are the options of `podctl events`.
type eventsOptions struct {
	shell.Globals
	shell.ListOptions
	query target.Query
	// types are the types to print, none for all.
	types []string
	since time.Time
}

const (
	typeNormal  = "Normal"
	typeWarning = "Warning"
)

// eventsCommand returns `podctl events`.
func eventsCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "events",
		Usage:   "list the events of pods that podctl processes recorded, the newest last",
		Args:    cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true, ByName: true},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NodeList,
		Aliases: []string{"event", "ev", "get events"},
		Description: "Reads the journal below --root, which outlives the agent and the pods: the events of the pods of\n" +
			"agent and run, and what agent --observe saw of all pods. Needs no runtime. Repeated events are\n" +
			"one line with their number. With --watch, prints new events until Ctrl-C.\n" +
			"-o is " + output.Formats + ".",
		Flags: slices.Concat(targetFlags(0), shell.FormatFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "print new events, too, one for each line; with -o json, one object for each line"},
			&cli.StringFlag{Name: "types", DefaultText: "all", Usage: "only events of these `TYPES`: Normal,Warning"},
			&cli.DurationFlag{Name: "since", DefaultText: "all", Usage: "only events of this last `DURATION`: 5s, 2m, 3h"},
		}),
		Action: func(c *cli.Context) error {
			o := eventsOptions{Globals: shell.ReadGlobals(c)}
			var err error
			if o.ListOptions, err = shell.ReadList(c); err != nil {
				return err
			}
			if o.query, err = readTarget(c, c.Args().Slice()); err != nil {
				return err
			}
			for name := range strings.SplitSeq(c.String("types"), ",") {
				switch {
				case name == "":
				case strings.EqualFold(name, typeNormal), strings.EqualFold(name, typeWarning):
					o.types = append(o.types, strings.ToUpper(name[:1])+strings.ToLower(name[1:]))
				default:
					return shell.Usagef("--types %q: want Normal, Warning or both", name)
				}
			}
			if o.since, err = readSince(c, e.Now()); err != nil {
				return err
			}
			return runEvents(c.Context, e, o)
		},
	}
}

func runEvents(ctx context.Context, e *shell.Env, o eventsOptions) error {
	paths, err := host.DefaultPaths.With(o.Given())
	if err != nil {
		return err
	}
	r := journal.NewReader(journal.Dir(paths.Root))
	defer r.Close()
	entries, err := r.Next()
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	entries, err = o.selected(entries)
	if err != nil && !o.Watch {
		return err
	}
	if !o.Watch {
		return o.Show(ctx, e, "no events", func(context.Context) (output.List, error) {
			return eventListing(journal.GroupBySeries(entries), e.Now()), nil
		})
	}
	w := &eventWatch{env: e, opts: o, reader: r, stream: o.Format.NewStream(e.Out)}
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error { return w.run(ctx, entries) })
}

// selected returns the entries that the options select. The error is that no entry
// is about a pod of the query.
func (o *eventsOptions) selected(entries []journal.Entry) ([]journal.Entry, error) {
	meant, err := o.pods(entries)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e journal.Entry) bool {
		return meant != nil && !meant[e.UID] || e.Time.Before(o.since) || len(o.types) > 0 && !slices.Contains(o.types, eventType(&e))
	}), nil
}

// pods returns the UIDs of the pods that the query names among those with an entry,
// nil for all.
func (o *eventsOptions) pods(entries []journal.Entry) (map[types.UID]bool, error) {
	byUID := map[types.UID]*view.Pod{}
	var all []*view.Pod
	for _, e := range entries {
		if e.Name != "" && byUID[e.UID] == nil {
			byUID[e.UID] = &view.Pod{Metadata: view.Metadata{UID: e.UID, Namespace: e.Namespace, Name: e.Name}}
			all = append(all, byUID[e.UID])
		}
	}
	meant := map[types.UID]bool{}
	if !o.query.Names() {
		if o.query.Namespace == "" || o.query.AllNamespaces {
			return nil, nil
		}
		for _, p := range all {
			if p.Namespace == o.query.Namespace {
				meant[p.UID] = true
			}
		}
		return meant, nil
	}
	found, err := target.Pods(all, o.query)
	if missing, ok := errors.AsType[*target.NotFoundError](err); ok && target.OnlyErrors(err, target.IsNoPod) {
		err = noEvents(missing)
	}
	for _, f := range found {
		for _, p := range all { // earlier pods of the name, too
			if p.Namespace == f.Namespace && p.Name == f.Name {
				meant[p.UID] = true
			}
		}
	}
	return meant, err
}

// noEvents returns the error for a pod, which may exist, of which the journal has no event.
func noEvents(missing *target.NotFoundError) error {
	advice := "podctl agent --observe records the events of all pods of the runtime; --root is the directory that has them"
	if len(missing.Elsewhere)+len(missing.Nearest) > 0 {
		advice = missing.Hint()
	}
	return hint.Errorf(advice, "no events of pod %s are recorded", missing.Name)
}

func eventType(e *journal.Entry) string {
	if e.Warning {
		return typeWarning
	}
	return typeNormal
}

// eventData is one event of `podctl events -o json`.
type eventData struct {
	Type    string      `json:"type"`   // Normal, Warning
	Reason  string      `json:"reason"` // as kubectl describe shows it: Started, BackOff …; or podctl's own
	Message string      `json:"message,omitempty"`
	Object  eventObject `json:"object"`
	Count   int         `json:"count"`
	First   time.Time   `json:"firstTimestamp"`
	Last    time.Time   `json:"lastTimestamp"`
	Source  string      `json:"source,omitempty"` // the podctl process that recorded it
	// Event is the last of them as it was recorded.
	Event journal.Entry `json:"event"`
}

// eventObject is what an event is about: nothing for an event of the runtime.
type eventObject struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	Container string    `json:"container,omitempty"`
}

func (o eventObject) String() string {
	switch {
	case o.Name == "":
		return "node"
	case o.Container == "":
		return o.Namespace + "/" + o.Name
	}
	return o.Namespace + "/" + o.Name + "/" + o.Container
}

func newEventData(s journal.Series) eventData {
	return eventData{
		Type: eventType(&s.Entry), Reason: s.Reason, Message: s.Text(), Count: s.Count, First: s.First, Last: s.Time, Source: s.Instance,
		Object: eventObject{s.Namespace, s.Name, s.UID, s.Container}, Event: s.Entry,
	}
}

// eventHeader is kubectl's.
var eventHeader = []string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}

func eventListing(all []journal.Series, now time.Time) output.List {
	l := output.List{Header: eventHeader, Wide: []string{"SOURCE", "UID"}}
	for _, s := range all {
		d := newEventData(s)
		l.Items = append(l.Items, output.Item{
			Name: d.Object.String(), Data: d, Cells: eventCells(d, now), Wide: []string{d.Source, string(d.Object.UID)},
		})
	}
	return l
}

func eventCells(d eventData, now time.Time) []string {
	seen := output.Age(now.Sub(d.Last))
	if d.Count > 1 {
		seen = fmt.Sprintf("%s (x%d over %s)", seen, d.Count, output.Age(now.Sub(d.First)))
	}
	return []string{seen, d.Type, d.Reason, output.OneLine(d.Object.String()), output.OneLine(pod.ErrorText(d.Message))}
}
