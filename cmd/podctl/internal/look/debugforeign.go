package look

import (
	"context"
	"fmt"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/images"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/debugger"
	podimages "github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

const (
	// createGrace is how long an interrupted podctl waits for the creation that is in
	// flight, so that it can be undone.
	createGrace = 800 * time.Millisecond
	// removeTime bounds the removal of the container, and before it the wait of an
	// interrupted podctl for its start: a container that is starting cannot be removed.
	removeTime = 10 * time.Second
)

// debugForeign runs a container of podctl's own in the sandbox of a pod, and removes it
// at the end.
func debugForeign(ctx context.Context, p *view.Pod, local *localStreams, o debugOptions) error {
	d := &debugger.Debugger{Client: local.s.Client, Pod: p.Runtime}
	local.o.detachKeys = nil // it is removed at the end
	o.container.StdinOnce = o.container.Stdin
	local.note("container %s of %s is podctl's own, and is removed at the end", o.container.Name, p.DisplayName())
	credentials, err := images.UserCredentials(local.e, o.credentials)
	if err != nil {
		return err
	}
	image, err := podimages.Present(ctx, d.Client, o.container.Image, credentials, func(name string) { local.note("pulling %s", name) })
	if err != nil {
		return err
	}
	created := make(chan struct{}, 1)
	err = finish(ctx, createGrace, func() error {
		defer func() { created <- struct{}{} }()
		return d.Create(ctx, &o.container, image)
	})
	select {
	case <-created:
	default:
		fmt.Fprintf(local.e.Errw, "warning: the runtime may still create container %s in pod %s, which then stays until the pod ends\n", o.container.Name, p.DisplayName())
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		if err := d.Remove(ctx); err != nil {
			fmt.Fprintf(local.e.Errw, "warning: container %s stays in pod %s: %v\n", o.container.Name, p.DisplayName(), err)
		}
	}()
	if err != nil {
		return err
	}
	if err := finish(ctx, removeTime, func() error { return d.Start(ctx) }); err != nil {
		return err
	}
	t := target.Target{Pod: p, Container: &pod.Container{ID: d.ID, Name: o.container.Name, State: pod.Running}}
	if o.stdin || o.tty {
		return local.attachTo(ctx, t)
	}
	status, err := d.Wait(ctx)
	if err != nil {
		return err
	}
	if err := printLog(local, status.LogPath); err != nil {
		return err
	}
	return exitCodeError(int(status.ExitCode))
}

// printLog prints what an exited container wrote.
func printLog(local *localStreams, path string) error {
	if path == "" {
		local.note("the pod has no logs; podctl debug -i shows what the container prints")
		return nil
	}
	r, err := logs.Open(path, logs.All)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		l, ok, err := r.Next()
		if !ok && err == nil {
			l, ok = r.Flush()
		}
		if !ok || err != nil {
			return err
		}
		w := shell.ToUser(local.e.Out)
		if l.Stream == logs.Stderr {
			w = shell.ToUser(local.e.Errw)
		}
		if l.Ends {
			l.Text = append(l.Text, '\n')
		}
		if _, err := w.Write(l.Text); err != nil {
			return err
		}
	}
}
