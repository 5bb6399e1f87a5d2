package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/bench"
)

// benchOptions are the options of `podctl bench`.
type benchOptions struct {
	shell.Globals
	format   output.Format
	versus   string // endpoint, "" for none
	handlers []string
	image    string // "" for one that the runtime holds
	bench    bench.Options
}

// maxPods is the word of --pods for as many as fit.
const maxPods = "max"

func benchCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "bench",
		Usage:   "measure a runtime: starts and stops of pods, lists and statuses, exec, exit events",
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{benchData{}},
		Description: "Starts pods of one container in the namespace " + bench.Namespace + " with the CRI calls that they need and\n" +
			"no other, all at once; calls lists and statuses, and ExecSync, while they run; kills up to 20\n" +
			"containers, one after the other, and waits for the runtime's event of each; stops and removes\n" +
			"the pods, all at once. Times are those of the calls as this client sees them;\n" +
			"\"" + bench.PodStarted + "\" is from the request of all pods to the start of that pod's\n" +
			"container, \"" + bench.ExitToEvent + "\" from the runtime's time of an exit to its event. A runtime without\n" +
			"events, or one that gives each to one subscriber only, is listed every 10ms instead.\n" +
			"PER SECOND is how many ended in a second, with all in flight together. Columns of the histogram\n" +
			"double in time.\n" +
			"All pods are removed at the end and on Ctrl-C; those that a killed podctl bench left, before it\n" +
			"begins. A runtime that a kubelet uses is refused. The image has to be there already, and to have\n" +
			"sleep and true, or /pause.\n\n" +
			"   podctl bench --pods 1,20\n" +
			"   podctl bench --pods max   # until one cannot be started\n" +
			"   podctl bench --handler runc --handler crun   # two handlers side by side\n" +
			"   podctl -r /run/containerd/containerd.sock bench --versus /run/crio/crio.sock\n\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "pods", Value: "1,20,60", Usage: "`NUMBERS` of pods, separated by commas; max is as many as fit: until one cannot be started, less than a tenth of the memory is available, or there are 500"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of rounds with each number of pods; max has one"},
			&cli.StringSliceFlag{Name: "handler", DefaultText: "the default handler", Usage: "runtime handler `NAME` to measure; repeatable"},
			&cli.StringFlag{Name: "versus", Usage: "another CRI `ENDPOINT` to measure in turn with the runtime; ratios are to the first"},
			&cli.StringFlag{Name: "image", DefaultText: "busybox, alpine or pause, as the runtime has it", Usage: "`IMAGE` of the containers"},
			&cli.IntFlag{Name: "callers", Value: 1, Usage: "`NUMBER` of calls of lists and statuses in flight at once"},
		},
		Action: func(c *cli.Context) error {
			o, err := readBench(c)
			if err != nil {
				return err
			}
			return runBench(c.Context, e, o)
		},
	}
}

func readBench(c *cli.Context) (benchOptions, error) {
	o := benchOptions{
		Globals: shell.ReadGlobals(c), versus: c.String("versus"), handlers: c.StringSlice("handler"), image: c.String("image"),
		bench: bench.Options{Rounds: c.Int("rounds"), Callers: c.Int("callers")},
	}
	if len(o.handlers) == 0 {
		o.handlers = []string{""}
	}
	for flag, n := range map[string]int{"rounds": o.bench.Rounds, "callers": o.bench.Callers} {
		if n < 1 || n > 1000 {
			return o, shell.Usagef("--%s %d: want 1 to 1000", flag, n)
		}
	}
	for word := range strings.SplitSeq(c.String("pods"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case strings.TrimSpace(word) == maxPods:
			n = bench.Max
		case err != nil || n < 1 || n > bench.MaxLimit:
			return o, &shell.UsageError{
				Message: fmt.Sprintf("--pods: %q is neither a number from 1 to %d nor %s", word, bench.MaxLimit, maxPods), Advice: "--pods 1,20," + maxPods,
			}
		}
		o.bench.Pods = append(o.bench.Pods, n)
	}
	var err error
	o.format, err = shell.ReadReportOutput(c)
	return o, err
}
