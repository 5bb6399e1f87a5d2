package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the parameters of requests for logs

	"github.com/podctl/podctl/internal/cri/logs"
)

const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// logs serves what a container wrote, read by podctl.
func (b *bridge) logs(w http.ResponseWriter, r *http.Request) error {
	var o v1.PodLogOptions
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), v1.SchemeGroupVersion, &o); err != nil {
		return badRequest{err}
	}
	p, err := b.podOf(r)
	if err != nil {
		return err
	}
	id, err := loggedContainer(p, r.PathValue("container"), o.Previous)
	if err != nil {
		return badRequest{err}
	}
	status, err := b.runtime.ContainerStatus(r.Context(), id)
	if err != nil {
		return badRequest{fmt.Errorf("unable to retrieve container logs for %s: %w", id, err)}
	}
	printer := &logPrinter{w: w, timestamps: o.Timestamps, left: -1}
	if o.LimitBytes != nil {
		printer.left = *o.LimitBytes
	}
	group := logs.NewGroup(logs.GroupOptions{Each: printer.line, Idle: printer.flush, Pieces: time.Second})
	defer group.Close()
	if err := group.Add(id, nil, status.LogPath, linesOf(&o)); err != nil {
		return badRequest{err}
	}
	group.Seal()
	if o.Follow {
		go b.endWithContainer(r, id, group)
	}
	return group.Run(r.Context())
}

// endWithContainer ends the following of a log once its container has ended.
func (b *bridge) endWithContainer(r *http.Request, id string, group *logs.Group) {
	for r.Context().Err() == nil {
		if s, err := b.runtime.ContainerStatus(r.Context(), id); err != nil || !s.FinishedAt.IsZero() {
			group.End(id)
			return
		}
		time.Sleep(poll)
	}
}

func linesOf(o *v1.PodLogOptions) logs.Options {
	lines := logs.Options{Tail: -1, Follow: o.Follow}
	if o.TailLines != nil {
		lines.Tail = *o.TailLines
	}
	if o.SinceSeconds != nil {
		lines.Since = time.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	if o.SinceTime != nil {
		lines.Since = o.SinceTime.Time
	}
	if o.Stream != nil {
		lines.Omit[logs.Stdout], lines.Omit[logs.Stderr] = *o.Stream == v1.LogStreamStderr, *o.Stream == v1.LogStreamStdout
	}
	return lines
}

// logPrinter writes lines as the kubelet does.
type logPrinter struct {
	w          http.ResponseWriter
	timestamps bool
	left       int64 // bytes that may be written; negative for no limit
}

func (p *logPrinter) line(_ any, l logs.Line) error {
	text := slices.Clone(l.Text)
	if p.timestamps && l.Begins {
		text = append([]byte(l.Time.Format(timeFormat)+" "), text...)
	}
	if l.Ends {
		text = append(text, '\n')
	}
	if p.left >= 0 {
		text = text[:min(int64(len(text)), p.left)]
		p.left -= int64(len(text))
	}
	if _, err := p.w.Write(text); err != nil {
		return err
	}
	if p.left == 0 {
		return logs.ErrEnough
	}
	return nil
}

func (p *logPrinter) flush() error {
	return http.NewResponseController(p.w).Flush()
}

// loggedContainer returns the id of the container whose log is meant
// (validateContainerLogStatus in pkg/kubelet/kubelet_pods.go).
func loggedContainer(p *v1.Pod, name string, previous bool) (string, error) {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
	i := slices.IndexFunc(all, func(c v1.ContainerStatus) bool { return c.Name == name })
	if i < 0 {
		return "", fmt.Errorf("container %q in pod %q is not available", name, p.Name)
	}
	s, last := all[i], ""
	if t := all[i].LastTerminationState.Terminated; t != nil {
		last = t.ContainerID
	}
	id := last
	switch {
	case previous && last == "":
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, p.Name)
	case previous:
	case s.State.Running != nil:
		id = s.ContainerID
	case s.State.Terminated != nil && s.State.Terminated.ContainerID != "":
		id = s.State.Terminated.ContainerID
	}
	if id == "" {
		return "", waits(p, s)
	}
	_, bare, _ := strings.Cut(id, "://")
	return bare, nil
}

// waits returns why a container has no log.
func waits(p *v1.Pod, s v1.ContainerStatus) error {
	why := " - no logs yet"
	if w := s.State.Waiting; w != nil {
		switch why = ": " + w.Reason; w.Reason {
		case "ErrImagePull":
			why = ": image can't be pulled"
		case "ImagePullBackOff":
			why = ": trying and failing to pull image"
		}
	}
	return errors.New(fmt.Sprintf("container %q in pod %q is waiting to start", s.Name, p.Name) + why)
}
