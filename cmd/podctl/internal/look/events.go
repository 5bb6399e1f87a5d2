package look

import (
	"context"
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
	"github.com/podctl/podctl/internal/serve/journal"
)

// eventsOptions are the options of `podctl events`.
type eventsOptions struct {
	shell.Globals
	shell.ListOptions
	journal.Filter
}

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
			if o.Query, err = readTarget(c, c.Args().Slice()); err != nil {
				return err
			}
			for name := range strings.SplitSeq(c.String("types"), ",") {
				switch {
				case name == "":
				case strings.EqualFold(name, journal.Normal), strings.EqualFold(name, journal.Warning):
					o.Types = append(o.Types, strings.ToUpper(name[:1])+strings.ToLower(name[1:]))
				default:
					return shell.Usagef("--types %q: want Normal, Warning or both", name)
				}
			}
			if o.Since, err = readSince(c, e.Now()); err != nil {
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
	entries, err = o.Select(entries)
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
	Kind      string    `json:"kind,omitempty"` // Job or CronJob, missing for a pod
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	Container string    `json:"container,omitempty"`
}

func (o eventObject) String() string {
	switch {
	case o.Name == "":
		return "node"
	case o.Kind != "":
		return strings.ToLower(o.Kind) + "/" + o.Namespace + "/" + o.Name
	case o.Container == "":
		return o.Namespace + "/" + o.Name
	}
	return o.Namespace + "/" + o.Name + "/" + o.Container
}

func newEventData(s journal.Series) eventData {
	return eventData{
		Type: s.Type(), Reason: s.Reason, Message: s.Text(), Count: s.Count, First: s.First, Last: s.Time, Source: s.Instance,
		Object: eventObject{s.Kind, s.Namespace, s.Name, s.UID, s.Container}, Event: s.Entry,
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
