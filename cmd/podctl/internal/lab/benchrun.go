package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/bench"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/hint"
)

// runBench measures until it is done or interrupted, and prints each number of pods when it
// is measured.
func runBench(ctx context.Context, e *shell.Env, o benchOptions) error {
	changes, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	interrupted := make(chan struct{})
	go func() {
		select {
		case <-e.Interrupts:
		case <-ctx.Done():
			return
		}
		close(interrupted)
		stop()
		fmt.Fprintln(e.Errw, "removing the pods of podctl bench; again Ctrl-C leaves them")
		select {
		case <-e.Interrupts:
			giveUp()
		case <-changes.Done():
		}
	}()
	err := measure(ctx, changes, e, o)
	select {
	case <-interrupted:
		if changes.Err() != nil {
			return hint.With(errors.New("interrupted twice: pods are left"), "podctl bench removes them before it begins")
		}
		if err == nil || errors.Is(err, context.Canceled) {
			return shell.ErrInterrupted
		}
	default:
	}
	return err
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
		mine, closePlace, err := openPlace(ctx, changes, e, g, client)
		if err != nil {
			return err
		}
		defer closePlace()
		mine.Image = o.image
		if err := chooseImage(ctx, mine); err != nil {
			return err
		}
		for _, handler := range o.handlers {
			pods := *mine
			pods.Handler = handler
			s := bench.NewSubject(ctx, subjectName(client, handler), &pods, calls)
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

// openPlace returns Pods with a directory that only one bench of a runtime uses at a time,
// once what an earlier one left is removed.
func openPlace(ctx, changes context.Context, e *shell.Env, g shell.Globals, client *cri.Client) (_ *bench.Pods, closePlace func(), err error) {
	endpoint := client.Endpoint().Runtime
	if path, unix := strings.CutPrefix(endpoint, "unix://"); unix {
		err := kubelet.CheckNone(ctx, path)
		if _, unseen := errors.AsType[*kubelet.UnseenError](err); err != nil && !unseen {
			return nil, nil, hint.With(err, "stop the kubelet, or use another runtime with -r")
		}
	}
	paths, err := host.DefaultPaths.With(g.Given())
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(paths.Root, "bench", host.RuntimeID(endpoint))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	unlock, err := flock.Lock(waiting, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, nil, hint.With(fmt.Errorf("another podctl bench measures %s: %w", endpoint, err), "wait for its end")
	}
	pods := &bench.Pods{Client: client, Mark: host.RuntimeID("dir:" + dir), LogDir: filepath.Join(dir, "logs")}
	left, err := pods.Sweep(changes)
	if left > 0 {
		fmt.Fprintf(e.Errw, "removed %s of a podctl bench that was killed\n", output.Plural(left, "pod"))
	}
	return pods, func() {
		_ = os.RemoveAll(pods.LogDir) // of the next one
		unlock()
	}, err
}

// chooseImage sets the image, or checks that the runtime holds it.
func chooseImage(ctx context.Context, pods *bench.Pods) error {
	if pods.Image != "" {
		image, err := pods.Client.ImageStatus(ctx, pods.Image)
		if err == nil && image == nil {
			err = hint.Errorf("podctl pull "+pods.Image, "the runtime does not hold the image %s", pods.Image)
		}
		return err
	}
	images, err := pods.Client.ListImages(ctx)
	if err != nil {
		return err
	}
	sandboxImage, err := pods.Client.SandboxImage(ctx)
	if err != nil {
		return err
	}
	pods.Image, err = bench.ChooseImage(images, sandboxImage)
	return err
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
