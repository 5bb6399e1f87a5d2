package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/flock"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/worker"
)

// hostPorts knows which host ports the pods of the host's other podctls have, on
// any runtime: two pods with one would both run, and traffic reach one of them.
type hostPorts struct {
	// runDir is podctl's run directory, with a directory for each runtime.
	runDir string
	// own is this podctl's control socket.
	own string
}

// portTimeout bounds the wait for other podctls that start pods with host ports,
// and for the answer of each.
const portTimeout = 5 * time.Second

// hold returns why a pod may not have its host ports. Until release is called no
// other podctl starts a pod with a host port.
func (h *hostPorts) hold(ctx context.Context, p *v1.Pod) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	if release, err = flock.LockDir(waiting, h.runDir); err != nil {
		return nil, fmt.Errorf("check host ports: %w", err)
	}
	others, err := h.others(ctx)
	if err == nil {
		if taken := preempt.PortTaken(p, others); taken != "" {
			err = &hostPortError{taken}
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// others are the pods of other living podctls that may have host ports now. A
// podctl that does not answer may have any.
func (h *hostPorts) others(ctx context.Context) ([]*v1.Pod, error) {
	runtimes, err := os.ReadDir(h.runDir)
	if err != nil {
		return nil, fmt.Errorf("check host ports: %w", err)
	}
	var pods []*v1.Pod
	for _, dir := range runtimes {
		if !dir.IsDir() {
			continue
		}
		path := filepath.Join(h.runDir, dir.Name())
		clients, err := control.Find(path, nil)
		if err != nil {
			return nil, fmt.Errorf("check host ports: %w", err)
		}
		for _, c := range clients {
			if control.Path(path, c.Instance()) == h.own {
				continue
			}
			theirs, err := runningPods(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("check host ports: podctl %q: %w", c.Instance(), err)
			}
			pods = append(pods, theirs...)
		}
	}
	return pods, nil
}

// runningPods are the pods of a podctl of which something may run.
func runningPods(ctx context.Context, c *control.Client) ([]*v1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	runs := map[types.UID]bool{}
	for _, w := range workers {
		runs[w.UID] = w.Phase == worker.Syncing.String() || w.Phase == worker.Terminating.String()
	}
	var pods []*v1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; runs[p.UID] {
			pods = append(pods, p)
		}
	}
	return pods, nil
}

// hostPortError says that another podctl's pod has a host port.
type hostPortError struct{ taken string }

func (e *hostPortError) Error() string { return "host port in use: " + e.taken }

// Hint says how to resolve it.
func (*hostPortError) Hint() string {
	return "stop the other pod, or change hostPort; the pod starts once the port is free"
}
