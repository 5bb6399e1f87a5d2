package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// askTimeout bounds a question to a pod.
const askTimeout = 20 * time.Second

// ask asks a pod that runs.
func (r *conformRun) ask(ctx context.Context, ask conform.Ask, i node.Info) (a conform.Answer) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	id := containerID(i.Status, ask.Container)
	switch {
	case ask.Exec != nil:
		result, err := r.session.Client.ExecSync(ctx, id, conform.Steps(ask.Exec), askTimeout)
		return conform.Answer{Stdout: string(result.Stdout), Stderr: string(result.Stderr), Code: int(result.ExitCode), Err: err}
	case ask.Port != 0:
		a.Stdout, a.Err = r.forward(ctx, i, uint16(ask.Port))
		return a
	}
	all, err := r.session.Client.ContainerStats(ctx)
	at := slices.IndexFunc(all, func(s cri.ContainerStats) bool { return s.ID == id })
	switch {
	case err != nil:
		a.Err = err
	case at < 0 || all[at].CPU == nil || all[at].WorkingSet == nil:
		a.Err = errors.New("the runtime reports none of a container that runs")
	default:
		a.CPUNanoseconds, a.MemoryBytes = uint64(*all[at].CPU), *all[at].WorkingSet
	}
	return a
}

// forward reads the answer of an HTTP server through a port-forward.
func (r *conformRun) forward(ctx context.Context, i node.Info, port uint16) (string, error) {
	at := slices.IndexFunc(r.session.RuntimePods(), func(p *pod.Pod) bool { return p.UID == i.Pod.UID })
	if at < 0 {
		return "", errors.New("the runtime does not list the pod")
	}
	sandbox := r.session.RuntimePods()[at].Sandboxes[0].ID
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	forwarder := stream.Forwarder{
		URL: func(ctx context.Context, port uint16) (string, error) {
			return r.session.Client.PortForward(ctx, sandbox, port)
		},
		Failed: func(_ *stream.Listener, err error) {
			select {
			case failed <- err:
			default:
			}
		},
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		_ = forwarder.Serve(ctx, []*stream.Listener{{Listener: listener, Remote: func(context.Context) (uint16, error) { return port, nil }}}) // its failures are in failed
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String(), nil)
	if err != nil {
		return "", err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		select {
		case cause := <-failed:
			return "", cause
		default:
			return "", err
		}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return string(text), err
}

// statuses are those of all containers of a pod.
func statuses(s v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
}

// containerID is the runtime's id of the last attempt of a container.
func containerID(s v1.PodStatus, name string) string {
	for _, c := range statuses(s) {
		if c.Name == name {
			_, id, _ := strings.Cut(c.ContainerID, "://")
			return id
		}
	}
	return ""
}

// maxLog bounds what is read of a log.
const maxLog = 1 << 20

// readLogs returns what the containers wrote, from the files as the runtime wrote them.
func readLogs(s *daemon.Session, p *v1.Pod, status v1.PodStatus) map[string][]conform.Line {
	all := map[string][]conform.Line{}
	for _, c := range statuses(status) {
		for attempt := range c.RestartCount + 1 {
			f, err := os.Open(s.LogFile(p, c.Name, attempt))
			if err != nil {
				continue // the attempt wrote nothing
			}
			text, _ := io.ReadAll(io.LimitReader(f, maxLog)) // what could be read is judged
			_ = f.Close()
			all[c.Name] = append(all[c.Name], conform.ParseLog(string(text), int(attempt))...)
		}
	}
	return all
}

// stateRecorder records the states that the runtime's events report, by container id.
type stateRecorder struct {
	// hasEvents reports whether the runtime has events for podctl.
	hasEvents bool

	mu   sync.Mutex
	byID map[string][]string
}

// watchStates subscribes to the events of a runtime that gives them to everybody, until ctx
// ends.
func watchStates(ctx context.Context, client *cri.Client) *stateRecorder {
	s := &stateRecorder{byID: map[string][]string{}}
	if !client.Connected().BroadcastsEvents() {
		return s
	}
	opened, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = client.Hints(ctx, func() { close(opened) }, s.handleHint) // without events there are none
	}()
	select {
	case <-opened:
		// A runtime whose events are disabled ends the stream at once.
		select {
		case <-ended:
		case <-time.After(time.Second):
			s.hasEvents = true
		}
	case <-ended:
	}
	return s
}

func (s *stateRecorder) handleHint(h pod.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := strings.ToLower(h.State.String())
	if h.Deleted {
		state = "deleted"
	}
	s.byID[h.ID] = append(s.byID[h.ID], state)
}

// eventTimeout bounds the wait for the event that a container was deleted.
const eventTimeout = 2 * time.Second

// statesOf returns the states of the first container of a pod that is gone, nil without events.
func (s *stateRecorder) statesOf(status v1.PodStatus) []string {
	if !s.hasEvents || len(status.ContainerStatuses) == 0 {
		return nil
	}
	id := containerID(status, status.ContainerStatuses[0].Name)
	for until := time.Now().Add(eventTimeout); ; time.Sleep(eventTimeout / 20) {
		s.mu.Lock()
		got := slices.Clone(s.byID[id])
		s.mu.Unlock()
		if slices.Contains(got, "deleted") || time.Now().After(until) {
			return append([]string{}, got...)
		}
	}
}
