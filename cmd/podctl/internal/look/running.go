package look

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/target"
)

// notRunningError is a container that cannot be entered.
type notRunningError struct {
	target target.Target
	// status is nil if the pod has no container.
	status *pod.ContainerStatus
	now    time.Time
}

func (e *notRunningError) Error() string {
	name := output.OneLine(e.target.DisplayName())
	switch {
	case e.status == nil:
		return name + " has no container"
	case e.status.State == pod.Created:
		return name + " is not running: it was created and has not started"
	case e.status.State != pod.Exited:
		return fmt.Sprintf("%s is not running: its state is %s", name, e.status.State)
	}
	text := fmt.Sprintf("%s is not running: it exited with code %d", name, e.status.ExitCode)
	if !e.status.FinishedAt.IsZero() {
		text += " " + output.Age(e.now.Sub(e.status.FinishedAt)) + " ago"
	}
	if e.status.Reason != "" && e.status.Reason != "Error" && e.status.Reason != "Completed" {
		text += " (" + output.OneLine(e.status.Reason) + ")"
	}
	return text
}

// Hint is where to look instead.
func (e *notRunningError) Hint() string {
	if e.status == nil || e.status.State != pod.Exited {
		return "podctl describe " + output.OneLine(e.target.Pod.DisplayName())
	}
	return "podctl logs " + output.OneLine(e.target.DisplayName()) + " shows its output"
}

// running reports a container that does not run as an error.
func (s *session) running(ctx context.Context, t target.Target, now time.Time) error {
	if t.Container == nil {
		return &notRunningError{target: t}
	}
	if t.Container.State == pod.Running {
		return nil
	}
	status, err := s.Client.ContainerStatus(ctx, t.Container.ID)
	if err != nil {
		return err
	}
	if status.State == pod.Running { // since it was listed
		return nil
	}
	return &notRunningError{target: t, status: status, now: now}
}

// noteDefault names the other containers of the pod if the user named none.
func (l *localStreams) noteDefault(t target.Target) {
	if len(t.DefaultedFrom) > 0 {
		l.note("%s", defaultNote(t))
	}
}

// defaultNote says which container was chosen for a target that names none.
func defaultNote(t target.Target) string {
	return fmt.Sprintf("container %s of %s; others: %s", t.Container.Name, t.Pod.DisplayName(), strings.Join(t.DefaultedFrom, ", "))
}
