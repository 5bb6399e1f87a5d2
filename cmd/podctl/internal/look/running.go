package look

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// openOne connects to the runtime and finds the container that a query names.
func openOne(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (*target.Session, target.Target, error) {
	s, err := shell.ConnectSession(ctx, e, g)
	if err != nil {
		return nil, target.Target{}, err
	}
	t, err := s.Find(ctx, q)
	if err != nil {
		s.Close()
		return nil, t, err
	}
	return s, t, nil
}

// notRunning returns the error for a container that cannot be entered. status is nil if
// the pod has no container.
func notRunning(t target.Target, status *pod.ContainerStatus, now time.Time) error {
	name, describe := output.OneLine(t.DisplayName()), "podctl describe "+t.Pod.CLIName()
	switch {
	case status == nil:
		return &target.NoContainerError{Pod: t.Pod}
	case status.State == pod.Created:
		return hint.Errorf(describe, "%s is not running: it was created and has not started", name)
	case status.State != pod.Exited:
		return hint.Errorf(describe, "%s is not running: its state is %s", name, status.State)
	}
	text := fmt.Sprintf("%s is not running: it exited with code %d", name, status.ExitCode)
	if !status.FinishedAt.IsZero() {
		text += " " + output.Age(now.Sub(status.FinishedAt)) + " ago"
	}
	if status.Reason != "" && status.Reason != "Error" && status.Reason != "Completed" {
		text += " (" + output.OneLine(status.Reason) + ")"
	}
	return hint.Errorf("podctl logs "+t.CLIName()+" shows its output", "%s", text)
}

// running reports a container that does not run as an error.
func running(ctx context.Context, s *target.Session, t target.Target, now time.Time) error {
	if t.Container == nil {
		return notRunning(t, nil, now)
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
	return notRunning(t, status, now)
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
