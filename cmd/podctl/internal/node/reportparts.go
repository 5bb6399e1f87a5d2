package node

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/report"
)

// reportCallTimeout is the timeout of one read-only call of a report, unless --timeout is set.
const reportCallTimeout = 5 * time.Second

// specTimeout bounds the answers of podctl processes about the specs of their pods.
const specTimeout = 2 * time.Second

// recordingTimeout bounds the recording in a report.
const recordingTimeout = 17 * time.Second

// parts are those of a report, in the order in which a person reads them.
func (r *reporter) parts() []report.Part {
	parts := []report.Part{
		r.list("doctor", "doctor: runtime and host", "doctor"),
		r.list("pods", "pods", "pods"),
		r.list("starting", "starting: pods that should run and do not", "starting"),
		r.list("terminating", "terminating: pods that do not end", "terminating"),
		r.list("orphans", "orphans: what has no owner", "orphans"),
		r.text("pleg-check", "pleg check: does the runtime list and answer", "pleg", "check"),
		r.text("describe", "describe: what each layer knows of the pods", "describe", "*/*"),
		r.list("services", "services: what is behind each Service", "services"),
		r.list("events", "events: what podctl processes recorded", "events"),
		r.list("images", "images", "images"),
		r.text("version", "version", "version"),
	}
	parts = append(parts, r.host.Parts()...)
	// It is first: nothing has more of the node, or takes longer.
	return append([]report.Part{{
		Name: "recording", Title: "all that the runtime and the owners of its pods answer: podctl -r tape:THIS-ARCHIVE inspect '*'", Collect: r.recording, Timeout: recordingTimeout, First: true,
	}}, parts...)
}

// globals are the flags of the report that concern every command.
func (r *reporter) globals() []string {
	g := r.opts.Globals
	flags := []string{"--timeout", cmp.Or(g.Timeout, reportCallTimeout).String(), "--host-root", "/"} // it was entered already
	for name, value := range map[string]string{
		"runtime-endpoint": g.Runtime, "image-endpoint": g.Image, "root": g.Root, "log-dir": g.LogDir, "run-dir": g.RunDir, "cgroup-root": g.CgroupRoot,
	} {
		if value != "" {
			flags = append(flags, "--"+name, value)
		}
	}
	return flags
}

// command runs a command, and returns what it printed; the error is what it printed to stderr
// if it printed nothing else.
func (r *reporter) command(ctx context.Context, args []string, flags ...string) (stdout []byte, files []report.File, err error) {
	var out, errw bytes.Buffer
	code := r.run(ctx, &out, &errw, append(append(args, flags...), r.globals()...)...)
	said := strings.TrimSpace(errw.String())
	switch {
	case ctx.Err() != nil && out.Len() == 0:
		return nil, nil, ctx.Err()
	case out.Len() == 0 && code != shell.ExitOK:
		return nil, nil, errors.New(cmp.Or(said, fmt.Sprintf("exit code %d", code)))
	case said != "":
		files = []report.File{{Name: "stderr.txt", Data: []byte(said + "\n")}}
	}
	return out.Bytes(), files, nil
}

// text is a part that is what a command prints.
func (r *reporter) text(name, title string, args ...string) report.Part {
	return report.Part{Name: name, Title: title, Collect: func(ctx context.Context) ([]report.File, error) {
		out, files, err := r.command(ctx, args)
		if err != nil {
			return nil, err
		}
		return append([]report.File{{Name: name + ".txt", Data: out}}, files...), nil
	}}
}

// list is a part that is the list of a command, as a table and as JSON.
func (r *reporter) list(name, title string, args ...string) report.Part {
	return report.Part{Name: name, Title: title, Collect: func(ctx context.Context) ([]report.File, error) {
		out, files, err := r.command(ctx, args, "-o", output.Cells)
		if err != nil {
			return nil, err
		}
		l, err := output.ReadCells(out)
		if err != nil {
			return files, err
		}
		for i := range l.Items {
			if l.Items[i].Data, err = r.masked(l.Items[i].Data); err != nil {
				return files, err
			}
		}
		var table, objects bytes.Buffer
		if err := wide.Print(&table, l); err != nil {
			return files, err
		}
		if table.Len() == 0 {
			table.WriteString("none\n")
		}
		if err := output.JSON(&objects, dataOf(l)); err != nil {
			return files, err
		}
		return append([]report.File{{Name: name + ".txt", Data: table.Bytes()}, {Name: name + ".json", Data: objects.Bytes()}}, files...), nil
	}}
}

// wide is the format of tables in a report.
var wide, _ = output.ParseFormat("wide")

func dataOf(l output.List) []any {
	all := make([]any, len(l.Items))
	for i, item := range l.Items {
		all[i] = item.Data
	}
	return all
}

// masked returns data, or JSON, without the values of variables that are secret, and remembers
// them.
func (r *reporter) masked(data any) (any, error) {
	raw, ok := data.(json.RawMessage)
	if ok {
		if err := json.Unmarshal(raw, &data); err != nil {
			return nil, err
		}
	}
	hidden, values := secret.AnswerAndValues(data, secret.NamesOf(nil))
	r.found(values)
	return hidden, nil
}

// specValues are the secret values in the specs of podctl's own pods. A runtime that hangs does
// not keep them from being known.
func (r *reporter) specValues(ctx context.Context) (values [][]byte) {
	ctx, cancel := context.WithTimeout(ctx, specTimeout)
	defer cancel()
	_, paths, err := shell.FindSockets(ctx, r.patient())
	if err != nil {
		return nil
	}
	living, _ := control.Find(paths.Locks, r.env.Dial) // what cannot be asked cannot be printed either
	for _, c := range living {
		if list, err := c.Pods(ctx); err == nil {
			for i := range list.Items {
				values = append(values, secret.Variables(&list.Items[i])...)
			}
		}
	}
	return values
}

// found remembers secret values.
func (r *reporter) found(values [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, values...)
}

// patient are the global flags, with the timeout of the report's calls.
func (r *reporter) patient() shell.Globals {
	g := r.opts.Globals
	g.Timeout = cmp.Or(g.Timeout, reportCallTimeout)
	return g
}

// secrets are the values that no part may show: those that were found, and the contents of the
// Secret volumes of podctl's and the kubelet's pods. A part that was abandoned may still run.
func (r *reporter) secrets() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	dirs := []string{r.host.KubeletDir()}
	if paths, err := host.DefaultPaths.With(r.opts.Given()); err == nil {
		dirs = append(dirs, paths.Pods())
	}
	return slices.Concat(r.values, report.SecretValues(dirs...))
}
