package lab

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/bench"
	"github.com/podctl/podctl/internal/node/host"
)

// runBench measures until it is done or interrupted, and prints each number of pods when it
// is measured.
func runBench(ctx context.Context, e *shell.Env, o benchOptions) error {
	return interruptedTwice(ctx, e, "bench", func(ctx, changes context.Context) error { return measure(ctx, changes, e, o) })
}

// measure prepares the subjects, and measures them.
func measure(ctx, changes context.Context, e *shell.Env, o benchOptions) error {
	var subjects []*bench.Subject
	var data benchData
	endpoints := []shell.Globals{o.Globals}
	if o.versus != "" {
		second := o.Globals
		second.Runtime, second.Image = o.versus, ""
		endpoints = append(endpoints, second)
	}
	for _, g := range endpoints {
		calls := &bench.Calls{}
		client, disconnect, err := shell.ConnectWatched(ctx, e, g, nil, calls)
		if err != nil {
			return err
		}
		defer disconnect()
		for _, s := range data.Subjects {
			if host.RuntimeID(s.Endpoint) == host.RuntimeID(client.Endpoint().Runtime) {
				return &shell.UsageError{Message: "--versus is the same runtime", Advice: "--handler NAME --handler NAME measures two handlers of one"}
			}
		}
		at, err := openWorkspace(ctx, changes, e, g, client, "bench", bench.Label)
		if err != nil {
			return err
		}
		defer at.close()
		image, err := chooseImage(ctx, client, o.image)
		if err != nil {
			return err
		}
		for _, handler := range o.handlers {
			pods := &bench.PodMaker{Client: client, Handler: handler, Image: image, Mark: at.mark, LogDir: at.logs()}
			s := bench.NewSubject(ctx, subjectName(client, handler), pods, calls)
			subjects = append(subjects, s)
			data.Subjects = append(data.Subjects, subjectOf(client, s))
		}
	}
	p := benchPrinter{env: e, format: o.format, subjects: subjects, data: &data}
	o.bench.Room, o.bench.Measured = memoryLeft, p.level
	if err := p.begin(); err != nil {
		return err
	}
	if err := bench.Run(ctx, changes, subjects, o.bench); err != nil {
		return err
	}
	return p.end()
}

func subjectName(client *cri.Client, handler string) string {
	v := client.Connected()
	return strings.TrimSpace(v.Name + " " + strings.TrimPrefix(v.Version, "v") + " " + handler)
}

// leastMemory is the part of the host's memory that has to be available for more pods.
const leastMemory = 10 // a tenth

// memoryLeft returns an error if little memory is available; nil where that cannot be told.
func memoryLeft() error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil
	}
	values := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		var name string
		var kib uint64
		if n, _ := fmt.Sscanf(line, "%s %d", &name, &kib); n == 2 {
			values[name] = kib << 10
		}
	}
	if total, available := values["MemTotal:"], values["MemAvailable:"]; available < total/leastMemory {
		return fmt.Errorf("%s of %s of memory are available", output.Size(available), output.Size(total))
	}
	return nil
}
