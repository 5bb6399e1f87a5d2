package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/conform/inside"
	"github.com/podctl/podctl/internal/pod"
)

// Observation is a pod's run: what podctl and the runtime reported, and what its containers wrote.
type Observation struct {
	// Pod is the pod as it was run.
	Pod *v1.Pod
	// Refused is why the pod was not run, "" if it was: the handler lacks a feature, or the node
	// rejected the pod.
	Refused string
	// Late: until was not true in time; Problem is the last error of podctl about the pod.
	Late    bool
	Problem string
	// Status is that when until was true, Ended that at the end.
	Status, Ended v1.PodStatus
	Answer        Answer
	// StopTook is the time from the request to remove the pod until it was gone.
	StopTook time.Duration
	// Logs are what each container wrote, by attempt: its log files.
	Logs map[string][]string
	// Host are facts of the host, as podctl sees it.
	Host map[string]any
	// Events are the states that the runtime's events told of the first container; nil if it
	// has no events for podctl.
	Events []string
}

// Answer is the answer to an Ask. Err is why there is none.
type Answer struct {
	Err            string         `json:"err"`
	Code           int            `json:"code"`
	Stdout         string         `json:"stdout"`
	Stderr         string         `json:"stderr"`
	Facts          map[string]any `json:"facts"` // the line of Stdout that begins with FactsPrefix
	CPUNanoseconds uint64         `json:"cpuNanoseconds"`
	MemoryBytes    uint64         `json:"memoryBytes"`
}

// containers returns what is known of each container of a pod by a status.
func containers(s v1.PodStatus) map[string]any {
	all := map[string]any{}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		known := map[string]any{"restarts": c.RestartCount, "ready": c.Ready}
		if end := c.State.Terminated; end != nil {
			known["end"], known["message"] = fmt.Sprintf("%d %s", end.ExitCode, end.Reason), end.Message
			known["seconds"] = end.FinishedAt.Sub(end.StartedAt.Time).Seconds()
		}
		all[c.Name] = known
	}
	return all
}

// view returns what paths of expect lead through.
func (s *Observation) view() any {
	all := containers(s.Ended)
	for name, logs := range s.Logs {
		known, _ := all[name].(map[string]any)
		if known == nil {
			known = map[string]any{}
		}
		addLogs(known, logs)
		all[name] = known
	}
	if facts, ok := strings.CutPrefix(strings.TrimSpace(s.Answer.Stdout), inside.FactsPrefix); ok {
		_ = json.Unmarshal([]byte(facts), &s.Answer.Facts) // without facts nothing is true of them
	}
	all["pod"], all["status"], all["ended"], all["answer"] = s.Pod, s.Status, s.Ended, s.Answer
	all["host"], all["events"], all["stopSeconds"] = s.Host, s.Events, s.StopTook.Seconds()
	return plain(all)
}

// plain returns a value as it is read from JSON.
func plain(value any) (read any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		panic(err) // it has nothing that JSON does not
	}
	return read
}

// line is a line that a container wrote. Tags are those of the lines of the log file that it is
// made of: PPF.
type line struct {
	Text string `json:"text"`
	Tags string `json:"tags"`
}

// addLogs adds what a container wrote, by attempt, to what is known of it. The lines of a log
// file are TIME STREAM TAG TEXT, where the tag P says that the line goes on.
func addLogs(known map[string]any, logs []string) {
	text, attempts, malformed := []string{}, []int{}, 0
	streams := map[string][]*line{}
	var lines []*line
	var runs []map[string]any
	var times []int64
	for attempt, log := range logs {
		lines = lines[:0]
		open := map[string]*line{}
		for raw := range strings.Lines(log) {
			parts := strings.SplitN(strings.TrimSuffix(raw, "\n"), " ", 4)
			if len(parts) < 4 || !isTime(parts[0]) || parts[1] != "stdout" && parts[1] != "stderr" || parts[2] != "P" && parts[2] != "F" {
				malformed++
				continue
			}
			stream := parts[1]
			l := open[stream]
			if l == nil {
				l = &line{}
				open[stream], streams[stream], lines = l, append(streams[stream], l), append(lines, l)
			}
			l.Text, l.Tags = l.Text+parts[3], l.Tags+parts[2]
			if parts[2] == "F" {
				delete(open, stream)
			}
		}
		for _, l := range lines {
			facts := map[string]any{}
			if found, ok := strings.CutPrefix(l.Text, inside.FactsPrefix); ok && json.Unmarshal([]byte(found), &facts) == nil {
				runs, attempts = append(runs, facts), append(attempts, attempt)
				continue
			}
			text = append(text, l.Text)
			if n, err := strconv.ParseInt(l.Text, 10, 64); err == nil {
				times = append(times, n)
			}
		}
	}
	if len(runs) > 0 {
		for name, fact := range runs[0] {
			known[name] = fact
		}
	}
	for stream, lines := range streams {
		known[stream] = lines
	}
	known["text"], known["times"], known["runs"], known["attempts"], known["malformed"] = text, times, runs, attempts, malformed
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// describe is a status in a line.
func describe(s v1.PodStatus) string {
	parts := []string{string(s.Phase)}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil:
			parts = append(parts, fmt.Sprintf("%s waits: %s %s", c.Name, c.State.Waiting.Reason, c.State.Waiting.Message))
		case c.State.Running != nil:
			parts = append(parts, c.Name+" runs")
		case c.State.Terminated != nil:
			parts = append(parts, fmt.Sprintf("%s exited %d", c.Name, c.State.Terminated.ExitCode))
		}
	}
	return strings.Join(parts, ", ")
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
		_ = client.Notices(ctx, func() { close(opened) }, s.handleHint) // without events there are none
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

func (s *stateRecorder) handleHint(h pod.Notice) {
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

// statesOf returns the states of a container that is gone, nil without events.
func (s *stateRecorder) statesOf(id string) []string {
	if !s.hasEvents {
		return nil
	}
	for until := time.Now().Add(eventTimeout); ; time.Sleep(eventTimeout / 20) {
		s.mu.Lock()
		got := slices.Clone(s.byID[id])
		s.mu.Unlock()
		if slices.Contains(got, "deleted") || time.Now().After(until) {
			return append([]string{}, got...)
		}
	}
}
