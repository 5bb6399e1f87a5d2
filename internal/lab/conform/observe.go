package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/lab/conform/inside"
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
}

// Answer is how Behaviour.Exec ended. Err is why it did not run.
type Answer struct {
	Err    string         `json:"err"`
	Code   int            `json:"code"`
	Stdout string         `json:"stdout"`
	Stderr string         `json:"stderr"`
	Facts  map[string]any `json:"facts"` // the line of Stdout that begins with FactsPrefix
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
	all["host"], all["stopSeconds"] = s.Host, s.StopTook.Seconds()
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
