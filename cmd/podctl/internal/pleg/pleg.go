// Package pleg is the commands `podctl pleg`, and the lines of the observing agent.
package pleg

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// Command is `podctl pleg`, which groups the commands that show how the PLEG works.
func Command(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:  "pleg",
		Usage: "show pod lifecycle events, their detection latency, and the runtime calls that the PLEG waits for",
		Subcommands: []*cmdline.Command{
			watchCommand(e),
			checkCommand(e),
		},
	}
}

// sourceFlags are the flags of readSource.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "source", Value: string(plegstat.AutoSource), DefaultText: string(plegstat.AutoSource), Usage: "`SOURCE` of events: auto, relist or events"},
		relistPeriodFlag(),
	}
}

func relistPeriodFlag() cli.Flag {
	return &cli.DurationFlag{Name: "relist-period", Value: time.Second, DefaultText: "1s", Usage: "`DURATION` between two relists; the kubelet's is 1s"}
}

func readSource(c *cli.Context) (plegstat.EventSource, time.Duration, error) {
	source, period := plegstat.EventSource(c.String("source")), c.Duration("relist-period")
	switch source {
	case plegstat.AutoSource, plegstat.RelistSource, plegstat.HintSource:
	default:
		return "", 0, shell.Usagef("--source %q is none of auto, relist, events", source)
	}
	if period <= 0 {
		return "", 0, shell.Usagef("--relist-period %s is not positive", period)
	}
	return source, period, nil
}

// eventTypes are the types of events that subscribers receive.
var eventTypes = []string{
	string(pleg.ContainerStarted), string(pleg.ContainerDied), string(pleg.ContainerRemoved), string(pleg.PodSync),
}

// filterFlags are the flags of readFilter, without --selector.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "show only pods of this `NAMESPACE`"},
		&cli.StringSliceFlag{Name: "pod", Usage: "show only the pod `NAME`, or NAMESPACE/NAME; repeatable"},
		&cli.StringSliceFlag{Name: "type", Usage: "show only events of this `TYPE`: " + strings.Join(eventTypes, ", ") + "; repeatable"},
	}
}

func readFilter(c *cli.Context) (plegstat.Filter, error) {
	f := plegstat.Filter{Namespace: c.String("namespace"), Pods: c.StringSlice("pod")}
	for _, given := range c.StringSlice("type") {
		i := slices.IndexFunc(eventTypes, func(t string) bool { return strings.EqualFold(t, given) })
		if i < 0 {
			hint := "one of: " + strings.Join(eventTypes, ", ")
			if near := suggest.Word(given, eventTypes); near != "" {
				hint = "did you mean " + near + "?"
			}
			return f, &shell.UsageError{Message: "--type " + given + " is not an event type", Advice: hint}
		}
		f.Types = append(f.Types, pleg.EventType(eventTypes[i]))
	}
	var err error
	f.Selector, err = shell.ReadSelector(c)
	return f, err
}
