package debugger

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// startPeriod is how often RunManaged asks whether a container has started.
const startPeriod = 100 * time.Millisecond

// RunManaged has the podctl process of a pod add an ephemeral container, and waits until it runs
// or has run; the error says why it cannot start.
func RunManaged(ctx context.Context, client *control.Client, p *view.Pod, container v1.EphemeralContainer) error {
	if err := client.Debug(ctx, p.Namespace, p.Name, container); err != nil {
		return err
	}
	for {
		list, err := client.Pods(ctx)
		if err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].UID != p.UID {
				continue
			}
			if done, err := started(&list.Items[i].Status, container.Name); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(startPeriod):
		}
	}
}

// started reports whether an ephemeral container has started, or why it cannot.
func started(s *v1.PodStatus, name string) (bool, error) {
	for _, c := range s.EphemeralContainerStatuses {
		if c.Name != name {
			continue
		}
		w := c.State.Waiting
		if w == nil {
			return true, nil
		}
		if w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return false, fmt.Errorf("container %s does not start: %s: %s", name, w.Reason, strings.ReplaceAll(strings.TrimSpace(w.Message), "\n", "; "))
		}
	}
	return pod.IsTerminal(s.Phase), nil
}
