// Command cmd checks how a runtime treats pods, and writes docs/conform.md from the results:
//
//	cmd run [flags] >FILE.json
//	cmd page FILE.json … >docs/conform.md
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/test/conform"
	"github.com/podctl/podctl/test/conform/inside"
)

const intro = `<!-- Made by make conform: change test/conform. -->

# Pod conformance of runtimes

A program of podctl's tests runs a pod for each behaviour, as podctl and the kubelet run it, and compares what the kubelet would see
with what a process sees in the containers. From a checkout, on a runtime of your own:

    CGO_ENABLED=0 go build -C test -o /tmp/conform ./conform/cmd
    /tmp/conform run -r unix:///run/containerd/containerd.sock --focus 'emptydir|subpath'

A verdict is **ok**, **deviates**, or **unsupported**: the runtime says that it cannot, or podctl refuses the pod because the
runtime cannot. A deviation that a version of the runtime is known for has a link to upstream's issue, and is no failure.

No registry and no image is needed but one that the runtime has, such as that of its sandboxes: the program itself is mounted into the
containers, and is what runs in them. The pods are in the namespace ` + "`" + conform.Namespace + "`" + `, with the label ` + "`" + conform.Label + "`" + `, and are removed at the end, on
Ctrl-C, and before the next run if it was killed. A runtime that a kubelet uses is refused. Single calls and
single containers are for [critest](https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/validation.md).

In parentheses is the runtime handler; the default one is Debian's runc.

`

func main() {
	if len(os.Args) > 1 && os.Args[1] == inside.Command {
		os.Exit(probe(os.Args[2:]))
	}
	err := fmt.Errorf("usage: %s run [flags] | page FILE.json …", filepath.Base(os.Args[0]))
	switch {
	case len(os.Args) > 1 && os.Args[1] == "run":
		err = run(os.Args[2:])
	case len(os.Args) > 2 && os.Args[1] == "page":
		err = page(os.Stdout, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(1)
	}
}

// outputTime is what the runtime is given to read what was written last: containerd 1.6 loses
// what is in the pipe of a container that exits.
const outputTime = 100 * time.Millisecond

// probe is what runs in the containers.
func probe(steps []string) int {
	code, err := inside.Run(steps, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
	}
	time.Sleep(outputTime)
	return code
}

// run runs behaviours and prints the results as JSON. An interrupt removes the pods.
func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	endpoint := flags.String("r", "", "CRI `ENDPOINT`; by default crictl's")
	root := flags.String("root", "", "`DIR` of pod directories")
	handler := flags.String("handler", "", "runtime handler `NAME` of the pods")
	image := flags.String("image", "", "`IMAGE` of the containers; nothing of it runs")
	focus := flags.String("focus", "", "only behaviours whose name matches this `REGEXP`")
	parallel := flags.Int("parallel", 4, "`NUMBER` of pods at once")
	_ = flags.Parse(args) // it exits
	names, err := regexp.Compile(*focus)
	if err != nil {
		return err
	}
	o := conform.Options{Image: *image, Handler: *handler, Parallel: *parallel}
	for _, b := range conform.All() {
		if names.MatchString(b.Name) {
			o.Behaviours = append(o.Behaviours, b)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	disconnect, err := o.Connect(ctx, *endpoint, host.Paths{Root: *root})
	if err != nil {
		return err
	}
	defer disconnect()
	results, err := conform.Run(ctx, context.Background(), o)
	if err != nil {
		return err
	}
	var unexpected []string
	for _, r := range results {
		if r.Unexpected() {
			unexpected = append(unexpected, r.Name)
		}
	}
	to := json.NewEncoder(os.Stdout)
	to.SetIndent("", "  ")
	if err := to.Encode(results); err != nil || len(unexpected) == 0 {
		return err
	}
	return fmt.Errorf("%s deviates: %s", results[0].Runtime, strings.Join(unexpected, ", "))
}

// column is a runtime.
type column struct {
	name    string
	results map[string]conform.Result
}

func page(w io.Writer, files []string) error {
	var columns []column
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var results []conform.Result
		if err := json.Unmarshal(text, &results); err != nil || len(results) == 0 {
			return fmt.Errorf("%s: %d results, %w", file, len(results), err)
		}
		c := column{results[0].Runtime, map[string]conform.Result{}}
		if _, handler, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ","); ok {
			c.name += " (" + handler + ")"
		}
		for _, r := range results {
			c.results[r.Name] = r
		}
		columns = append(columns, c)
	}
	var table, details strings.Builder
	fmt.Fprint(&table, intro, "| behaviour | what has to be so |")
	for _, c := range columns {
		fmt.Fprintf(&table, " %s |", c.name)
	}
	fmt.Fprintln(&table, "\n|---|---|"+strings.Repeat("---|", len(columns)))
	for _, b := range conform.All() {
		fmt.Fprintf(&table, "| `%s` | %s |", b.Name, strings.ReplaceAll(b.About, "|", `\|`))
		var said []string
		runtimes := map[string][]string{}
		for _, c := range columns {
			r := c.results[b.Name]
			mark := string(r.Verdict)
			if r.Verdict == conform.Deviates {
				mark = "**deviates**"
			}
			fmt.Fprintf(&table, " %s |", mark)
			if r.Detail != "" {
				text := strings.Join(strings.Fields(r.Detail), " ") + link(r.Known)
				if runtimes[text] == nil {
					said = append(said, text)
				}
				runtimes[text] = append(runtimes[text], c.name)
			}
		}
		for _, text := range said {
			who := strings.Join(runtimes[text], ", ")
			if len(runtimes[text]) == len(columns) {
				who = "all"
			}
			fmt.Fprintf(&details, "* `%s`, %s: %s\n", b.Name, who, text)
		}
		fmt.Fprintln(&table)
	}
	_, err := fmt.Fprintf(w, "%s\n## What deviates, and what is not supported\n\n%s", table.String(), details.String())
	return err
}

func link(k *conform.Known) string {
	if k == nil {
		return ""
	}
	return fmt.Sprintf(". Known: %s ([upstream](%s))", k.Why, k.Link)
}
