package main

import (
	"bytes"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/podsync"
)

// at is an event of the pod default/job, so long after noon.
func at(after time.Duration, ev node.Event) node.Event {
	ev.Time, ev.UID, ev.Namespace, ev.Name = noon.Add(after), "u1", "default", "job"
	if ev.Phase == "" {
		ev.Phase = v1.PodPending
	}
	return ev
}

const ms = time.Millisecond

// printLines gives events to a line printer and returns what it prints.
func printLines(ready bool, words string, events ...node.Event) string {
	var out bytes.Buffer
	p := newLinePrinter(&env{out: &out}, ready, func(node.Event) string { return words })
	for _, ev := range events {
		p.event(ev)
	}
	return out.String()
}

func TestAJobIsALineForEachEventThatSaysSomethingNew(t *testing.T) {
	got := printLines(false, "migration 7: relation exists",
		at(0, node.Event{Reason: node.ReasonStarting, Message: "starting"}),
		at(112*ms, node.Event{Reason: podsync.EventSandboxReady, Message: "sandbox ready, 10.88.0.7"}),
		at(120*ms, node.Event{Reason: podsync.EventPulling, Container: "job", Message: `Pulling image "busybox:1"`}),
		at(1320*ms, node.Event{Reason: podsync.EventPulled, Container: "job", Message: `Successfully pulled image "busybox:1" in 1.2s`}),
		at(1325*ms, node.Event{Reason: podsync.EventCreated, Container: "job", Message: "Container created"}),
		at(1379*ms, node.Event{Reason: podsync.EventStarted, Container: "job", Message: "Container started"}),
		at(1380*ms, node.Event{Reason: node.ReasonRunning, Container: "job", Message: "job runs", Phase: v1.PodRunning}),
		at(1380*ms, node.Event{Reason: node.ReasonReady, Message: "all containers are ready", Phase: v1.PodRunning}),
		at(3400*ms, node.Event{Reason: node.ReasonExited, Container: "job", Message: "job exited 3 after 2.0s", Warning: true, Phase: v1.PodFailed}),
		at(3400*ms, node.Event{Reason: node.ReasonEnded, Message: "the pod has failed", Warning: true, Phase: v1.PodFailed}),
		at(3500*ms, node.Event{Reason: node.ReasonStopped, Message: "nothing of the pod runs any more", Phase: v1.PodFailed}),
		at(3600*ms, node.Event{Reason: node.ReasonRemoved, Message: "nothing is left of the pod", Phase: v1.PodFailed}),
	)
	want := `12:00:00.112  default/job           Pending    sandbox ready, 10.88.0.7 (112ms)
12:00:00.120  default/job           Pending    job: Pulling image "busybox:1"
12:00:01.320  default/job           Pending    job: Successfully pulled image "busybox:1" in 1.2s
12:00:01.379  default/job           Pending    job started (54ms)
12:00:03.400  default/job           Failed     job exited 3 after 2.0s: "migration 7: relation exists"
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLineOfAnEvent(t *testing.T) {
	for _, c := range []struct {
		name  string
		ready bool
		words string
		ev    node.Event
		want  string // behind the phase; "" for no line
	}{
		{name: "readiness, where that is waited for", ready: true, ev: node.Event{Reason: node.ReasonReady, Message: "all containers are ready"}, want: "all containers are ready"},
		{name: "an image that is there", ev: node.Event{Reason: podsync.EventPulled, Container: "c", Message: `Container image "x" already present on machine`}},
		{name: "why a container failed", ev: node.Event{Reason: podsync.EventFailed, Container: "c", Message: "Failed to pull image: not found"}, want: "c: Failed to pull image: not found"},
		{name: "why a container waits", ev: node.Event{Reason: podsync.EventFailed, State: "CreateContainerConfigError", Container: "c", Warning: true, Message: `Error: configmap "a" not found`}, want: `c: CreateContainerConfigError: configmap "a" not found`},
		{name: "why a pull waits", ev: node.Event{Reason: podsync.EventBackOff, State: "ImagePullBackOff", Container: "c", Message: `Back-off pulling image "x"`}, want: `c: ImagePullBackOff: back-off pulling image "x"`},
		{name: "what keeps a pod from its start", ev: node.Event{Reason: podsync.EventFailedMount, Warning: true, Message: `MountVolume.SetUp failed`}, want: `FailedMount: MountVolume.SetUp failed`},
		{name: "a probe that failed without a word", ev: node.Event{Reason: "Unhealthy", Container: "c", Warning: true, Message: "Liveness probe failed: "}, want: "c: Unhealthy: liveness probe failed"},
		{name: "not again in a word", ev: node.Event{Reason: podsync.EventFailed, Container: "c", Message: "Error: ErrImagePull"}},
		{name: "a good end has no last words", words: "bye", ev: node.Event{Reason: node.ReasonExited, Container: "c", Message: "c exited 0 after 1s"}, want: "c exited 0 after 1s"},
		{name: "its own message is better than its log", words: "log", ev: node.Event{Reason: node.ReasonExited, Container: "c", Warning: true, Message: `c exited 1 after 1s: "message"`}, want: `c exited 1 after 1s: "message"`},
		{name: "the pod's own reason", ev: node.Event{Reason: node.ReasonEnded, Message: "the pod has failed: DeadlineExceeded"}, want: "the pod has failed: DeadlineExceeded"},
		{name: "an acronym keeps its case", ev: node.Event{Reason: "X", Message: "OOM in the pod"}, want: "OOM in the pod"},
		{name: "a line stays a line", ev: node.Event{Reason: "X", Message: "one\n\x1b[31mtwo"}, want: "one; �[31mtwo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			if c.want != "" {
				want = "12:00:00.000  default/job           Pending    " + c.want + "\n"
			}
			if got := printLines(c.ready, c.words, at(0, c.ev)); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestAFailureThatGoesOnIsSaidOnce(t *testing.T) {
	failure := func(after time.Duration, message string) node.Event {
		return at(after, node.Event{Reason: podsync.EventFailed, State: "CreateContainerError", Container: "c", Warning: true, Message: "Error: " + message})
	}
	got := printLines(false, "", failure(0, "no shim"), failure(10*time.Second, "no shim"), failure(20*time.Second, "still none"), failure(30*time.Second, "no shim"))
	want := "12:00:00.000  default/job           Pending    c: CreateContainerError: no shim\n" +
		"12:00:20.000  default/job           Pending    c: CreateContainerError: still none\n" +
		"12:00:30.000  default/job           Pending    c: CreateContainerError: no shim\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStoppedIsSaidOfAPodThatWasAskedToStop(t *testing.T) {
	got := printLines(false, "",
		at(0, node.Event{Reason: node.ReasonTerminating, Message: "stopping, up to 30s"}),
		at(1000*ms, node.Event{Reason: node.ReasonStopped, Message: "nothing of the pod runs any more"}))
	want := "12:00:00.000  default/job           Pending    stopping, up to 30s\n" +
		"12:00:01.000  default/job           Pending    nothing of the pod runs any more\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnEventOfTheRuntimeNamesNoPod(t *testing.T) {
	got := printLines(false, "", node.Event{Time: noon, Reason: node.ReasonRuntimeDown, Message: "the runtime does not answer"})
	if want := "12:00:00.000  the runtime does not answer\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogLinesHavePodAndContainerInFront(t *testing.T) {
	var out bytes.Buffer
	p := newLinePrinter(&env{out: &out}, false, nil)
	p.note("a note")
	p.log(logLine{namespace: "default", pod: "job", container: "c", text: []byte("as it is\x1b[m")})
	if got, want := out.String(), "a note\ndefault/job/c | as it is\x1b[m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
