package runview

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod/event"
)

// format is a value of --output.
func format(t *testing.T, value string) output.Format {
	t.Helper()
	f, err := output.ParseFormat(value)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// jsonLine is what the printer of data prints as JSON in one line.
func jsonLine(t *testing.T, print func(*dataPrinter)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	print(newDataPrinter(Screen{Out: &out, Now: func() time.Time { return noon }}, Options{Format: format(t, "json")}))
	if bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Errorf("not one line: %q", out.String())
	}
	var object map[string]any
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return object
}

func TestJSONLineFields(t *testing.T) {
	two := int32(2)
	type object = map[string]any
	for _, c := range []struct {
		name  string
		print func(*dataPrinter)
		want  object
	}{
		{"note", func(p *dataPrinter) { p.Note("two\nlines") },
			object{"time": "2026-03-01T12:00:00Z", "type": "note", "message": "two\nlines"}},
		{"event", func(p *dataPrinter) {
			p.Event(at(time.Second, event.Event{Reason: event.Exited, Container: "c", Exit: &event.Exit{Code: 137, Signal: 9}, Waiting: &event.ContainerWait{Reason: "CrashLoopBackOff"}, Warning: true, Phase: v1.PodFailed}))
		}, object{"time": "2026-03-01T12:00:01Z", "type": "event", "namespace": "default", "name": "job", "uid": "u1", "container": "c",
			"phase": "Failed", "reason": "Exited", "message": "c exited 137", "warning": true, "state": "CrashLoopBackOff",
			"exit": object{"code": 137.0, "signal": 9.0}, "waiting": object{"reason": "CrashLoopBackOff"}}},
		{"log", func(p *dataPrinter) {
			p.Log(LogLine{Namespace: "default", Pod: "job", Container: "c", Stream: "stderr", Text: []byte("a <b>\xff")})
		}, object{"time": "2026-03-01T12:00:00Z", "type": "log", "namespace": "default", "name": "job", "container": "c", "stream": "stderr", "text": "a <b>\ufffd"}},
		{"pod", func(p *dataPrinter) {
			p.Finish([]node.Info{web(func(i *node.Info) {
				setContainers(i, waits("web", "ErrImagePull", "not found"), ended("cache", 1, "Error", ""))
				i.Status.InitContainerStatuses = []v1.ContainerStatus{runs("side")}
				i.Status.ContainerStatuses[1].RestartCount = two
			})})
		}, object{"time": "2026-03-01T12:00:00Z", "type": "pod", "namespace": "default", "name": "web", "uid": "u1", "phase": "Running", "restarts": 2.0,
			"containers": []any{
				object{"name": "side", "state": "running", "ready": true, "restarts": 0.0},
				object{"name": "web", "state": "waiting", "ready": false, "restarts": 0.0, "reason": "ErrImagePull", "message": "not found"},
				object{"name": "cache", "state": "terminated", "ready": false, "restarts": 2.0, "exitCode": 1.0, "reason": "Error"},
			}}},
		{"rejected pod", func(p *dataPrinter) {
			p.Finish([]node.Info{web(func(i *node.Info) { i.Status, i.Rejected = v1.PodStatus{}, errors.New("taken") })})
		}, object{"time": "2026-03-01T12:00:00Z", "type": "pod", "namespace": "default", "name": "web", "uid": "u1", "restarts": 0.0, "rejected": "taken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, jsonLine(t, c.print)); d != "" {
				t.Error(d)
			}
		})
	}
}
