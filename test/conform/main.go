// Command conform writes docs/conform.md from the JSON of podctl conform on several runtimes:
//
//	conform FILE.json … >docs/conform.md
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/internal/lab/conform"
)

const intro = `<!-- Made by make conform: change internal/lab/conform, or test/conform. -->

# Pod conformance of runtimes

` + "`podctl conform`" + ` runs a pod for each behaviour, as podctl and the kubelet run it, and compares what the kubelet would see with what a process
sees in the containers. All its options are in [cli.md](cli.md#podctl-conform).

    podctl conform --focus 'emptydir|subpath' -o wide
    podctl conform --skip user-namespace -o junit >conform.xml

A verdict is **ok**, **deviates**, or **unsupported**: the runtime says that it cannot, or podctl refuses the pod because the
runtime cannot. A deviation that a version of the runtime is known for has a link to upstream's issue, and is no failure.

No registry and no image is needed but one that the runtime has, such as that of its sandboxes: podctl itself is mounted into the
containers, and is what runs in them. The pods are in the namespace ` + "`" + conform.Namespace + "`" + `, with the label ` + "`" + conform.Label + "`" + `, and are removed at the end, on
Ctrl-C, and before the next ` + "`podctl conform`" + ` if it was killed. A runtime that a kubelet uses is refused. Single calls and
single containers are for [critest](https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/validation.md).

In parentheses is the runtime handler; the default one is Debian's runc.

`

func main() {
	if err := page(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(1)
	}
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
