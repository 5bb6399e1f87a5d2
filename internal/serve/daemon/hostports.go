package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/proc"
)

// hostPorts knows which host ports the pods of the host's other podctls have, on
// any runtime: two pods with one would both run, and traffic reach one of them.
// The node's loop uses it, and no other goroutine.
type hostPorts struct {
	// runDir is podctl's run directory, with a directory for each runtime.
	runDir string
	// own is this podctl's control socket.
	own string
	log *slog.Logger
	// askTimeout and pause are portAskTimeout and portPause, unless a test sets them.
	askTimeout, pause time.Duration

	// peers are the other podctls, by control socket.
	peers map[string]*portPeer
	// noWait is until when the lock is only tried, because a wait for it ended
	// without it.
	noWait time.Time
}

const (
	// portsDir is the directory below the run directory that is locked while a pod
	// with host ports starts. The run directory's own lock is that of the cgroups,
	// which is never held while another process is asked.
	portsDir = "host-ports"
	// portLockTimeout bounds the wait for other podctls that start pods with host
	// ports, and portAskTimeout the answers of all of them, which come from memory.
	// The node's loop waits no longer than both.
	portLockTimeout = time.Second
	portAskTimeout  = time.Second
	// portPause is how long a lock that was not released is not waited for again,
	// and a podctl that did not answer not asked again: all the pods that one turn
	// of the loop starts wait once.
	portPause = 2 * time.Second
)

// portListeners returns the processes that listen on a port in podctl's network namespace.
func portListeners(protocol v1.Protocol, port int32) []string {
	pids, _ := proc.Default.Listening(os.Getpid(), func(l proc.Listener) bool { // a warning only
		return int32(l.Port) == port && l.Protocol == string(protocol)
	})
	var all []string
	for _, pid := range pids {
		all = append(all, fmt.Sprintf("%s (pid %d)", proc.Default.Comm(pid), pid))
	}
	return all
}

// reserve returns why a pod may not have its host ports. Until release is called no
// other podctl starts a pod with a host port.
func (h *hostPorts) reserve(ctx context.Context, p *v1.Pod) (release func(), err error) {
	if release, err = h.lock(ctx); err != nil {
		return nil, fmt.Errorf("check host ports: %w", err)
	}
	if err := h.conflict(ctx, p); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// conflict returns an error if a pod of another living podctl may have a host port of the pod.
func (h *hostPorts) conflict(ctx context.Context, p *v1.Pod) error {
	clients, err := h.find()
	if err != nil {
		return fmt.Errorf("check host ports: %w", err)
	}
	h.askPeers(ctx, clients)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("check host ports: %w", err)
	}
	for socket, peer := range h.peers {
		if taken := preempt.PortTaken(p, peer.pods); taken != nil {
			taken.ManagedBy(clients[socket].Instance())
			return &node.HostPortInUseError{Taken: taken}
		}
	}
	return nil
}

func (h *hostPorts) lock(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Join(h.runDir, portsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	wait := portLockTimeout
	if time.Now().Before(h.noWait) {
		wait = 0
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	unlock, err = flock.LockDir(waiting, dir)
	if errors.Is(err, context.DeadlineExceeded) && wait > 0 {
		h.noWait = time.Now().Add(cmp.Or(h.pause, portPause))
	}
	return unlock, err
}

// find returns the other living podctls, of any runtime, by control socket.
func (h *hostPorts) find() (map[string]*control.Client, error) {
	runtimes, err := os.ReadDir(h.runDir)
	if err != nil {
		return nil, err
	}
	found := map[string]*control.Client{}
	for _, dir := range runtimes {
		if !dir.IsDir() {
			continue
		}
		path := filepath.Join(h.runDir, dir.Name())
		clients, err := control.Find(path, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range clients {
			if socket := control.Path(path, c.Instance()); socket != h.own {
				found[socket] = c
			}
		}
	}
	return found, nil
}

// otherProcesses asks the podctl processes of this host beside this one.
type otherProcesses struct {
	client *cri.Client
	// asker asks about the pods of this runtime's lock directory, for the process of the
	// locks.
	asker owners.Asker
}

// owners asks the podctl processes that use the runtime by other endpoints, or have other
// run directories, about pods: those of this directory are excluded by their locks.
func (o otherProcesses) owners(ctx context.Context, pods []*pod.Pod) (node.Owners, error) {
	asker := o.asker
	asker.ElsewhereOnly = true
	answers, err := asker.Ask(ctx, o.client, pods)
	if err = errors.Join(err, unreadError(answers)); err != nil {
		return nil, err
	}
	return func(p *pod.Pod) error {
		v := answers.Judge(p)
		switch {
		case v.Kind != owners.ByPodctl, v.Relation == owners.Desires: // it waits for the pod, too
			return nil
		case v.Process.Name == "":
			return v.Why
		}
		return &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: v.Process.Name, Endpoint: v.Process.Endpoint}
	}, nil
}

// pods returns the pods of the other podctl processes of this host, of any runtime, and
// their instances, or an error if one did not answer or may not be visible.
func (o otherProcesses) pods(ctx context.Context) (map[types.UID]string, error) {
	asker := o.asker
	asker.Everybody = true
	if !asker.OwnerIsGone {
		if err := owners.Unseen(o.client, asker.Procs); err != nil {
			return nil, err
		}
	}
	answers, err := asker.Ask(ctx, o.client, nil)
	if err = errors.Join(err, unreadError(answers)); err != nil {
		return nil, err
	}
	return answers.OwnedPods()
}

func unreadError(a *owners.Answers) error {
	if a == nil {
		return nil
	}
	return a.Unread
}
