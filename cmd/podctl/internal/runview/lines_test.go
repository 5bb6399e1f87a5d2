package runview

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// at is an event of the pod default/job, so long after noon.
func at(after time.Duration, ev event.Event) event.Event {
	ev.Time, ev.UID, ev.Namespace, ev.Name = noon.Add(after), "u1", "default", "job"
	if ev.Phase == "" {
		ev.Phase = v1.PodPending
	}
	return ev
}

const ms = time.Millisecond

// printLines gives events to a line printer and returns what it prints.
func printLines(ready bool, words string, events ...event.Event) string {
	var out bytes.Buffer
	p := newLinePrinter(Screen{Out: &out}, Options{Ready: ready, LastLine: func(event.Event) string { return words }})
	for _, ev := range events {
		p.Event(ev)
	}
	return out.String()
}

func TestLinesOfJob(t *testing.T) {
	got := printLines(false, "migration 7: relation exists",
		at(0, event.Event{Reason: event.Starting}),
		at(112*ms, event.Event{Reason: event.SandboxReady, Addresses: []string{"10.88.0.7"}}),
		at(120*ms, event.Event{Reason: event.Pulling, Container: "job", Message: `Pulling image "busybox:1"`}),
		at(1320*ms, event.Event{Reason: event.Pulled, Container: "job", Message: `Successfully pulled image "busybox:1" in 1.2s`}),
		at(1325*ms, event.Event{Reason: event.Created, Container: "job", Message: "Container created"}),
		at(1379*ms, event.Event{Reason: event.Started, Container: "job", Message: "Container started"}),
		at(1380*ms, event.Event{Reason: event.Running, Container: "job", Phase: v1.PodRunning}),
		at(1380*ms, event.Event{Reason: event.Ready, Phase: v1.PodRunning}),
		at(3400*ms, event.Event{Reason: event.Exited, Container: "job", Exit: &event.Exit{Code: 3, Seconds: 2}, Warning: true, Phase: v1.PodFailed}),
		at(3400*ms, event.Event{Reason: event.Ended, Warning: true, Phase: v1.PodFailed}),
		at(3500*ms, event.Event{Reason: event.Stopped, Phase: v1.PodFailed}),
		at(3600*ms, event.Event{Reason: event.Removed, Phase: v1.PodFailed}),
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

func TestEventLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		ready bool
		words string
		ev    event.Event
		want  string // behind the phase; "" for no line
	}{
		{name: "readiness, where that is waited for", ready: true, ev: event.Event{Reason: event.Ready}, want: "all containers are ready"},
		{name: "an image that is there", ev: event.Event{Reason: event.Pulled, Container: "c", Image: &event.Image{Name: "x", Present: true}, Message: `Container image "x" already present on machine`}},
		{name: "why a pull failed", ev: event.Event{Reason: event.Failed, Container: "c", Image: &event.Image{Name: "x"}, Waiting: &event.ContainerWait{Reason: "ErrImagePull", Message: "not found"}}, want: `c: ErrImagePull: failed to pull image "x": not found`},
		{name: "why a container waits", ev: event.Event{Reason: event.Failed, Container: "c", Warning: true, Message: `Error: configmap "a" not found`, Waiting: &event.ContainerWait{Reason: "CreateContainerConfigError", Message: `configmap "a" not found`}}, want: `c: CreateContainerConfigError: configmap "a" not found`},
		{name: "why a pull waits", ev: event.Event{Reason: event.BackOff, Container: "c", Message: `Back-off pulling image "x"`, Waiting: &event.ContainerWait{Reason: "ImagePullBackOff"}}, want: `c: ImagePullBackOff: back-off pulling image "x"`},
		{name: "a crash loop: how long and why", ev: event.Event{Reason: event.BackOff, Container: "c", Warning: true, Message: "Back-off restarting failed container c in pod p_default(u)", Waiting: &event.ContainerWait{Reason: "CrashLoopBackOff", Crash: &event.Crash{BackOffSeconds: 10, ExitCode: 3}}}, want: "c: CrashLoopBackOff: back-off 10s restarting failed container, last exit 3"},
		{name: "what keeps a pod from its start", ev: event.Event{Reason: event.FailedMount, Warning: true, Message: `MountVolume.SetUp failed`}, want: `FailedMount: MountVolume.SetUp failed`},
		{name: "a probe that failed without a word", ev: event.Event{Reason: "Unhealthy", Container: "c", Warning: true, Message: "Liveness probe failed: "}, want: "c: Unhealthy: liveness probe failed"},
		{name: "not again in a word", ev: event.Event{Reason: event.Failed, Container: "c", Message: "Error: ErrImagePull", Waiting: &event.ContainerWait{Reason: "ErrImagePull"}}},
		{name: "a good end has no last words", words: "bye", ev: event.Event{Reason: event.Exited, Container: "c", Exit: &event.Exit{Seconds: 1}}, want: "c exited 0 after 1.0s"},
		{name: "its own message is better than its log", words: "log", ev: event.Event{Reason: event.Exited, Container: "c", Warning: true, Exit: &event.Exit{Code: 1, Seconds: 1, Message: "message\n"}}, want: `c exited 1 after 1.0s: "message"`},
		{name: "the pod's own reason", ev: event.Event{Reason: event.Ended, Phase: v1.PodFailed, End: &event.End{Reason: "DeadlineExceeded"}}, want: "the pod has failed: DeadlineExceeded"},
		{name: "an acronym keeps its case", ev: event.Event{Reason: "X", Message: "OOM in the pod"}, want: "OOM in the pod"},
		{name: "a line stays a line", ev: event.Event{Reason: "X", Message: "one\n\x1b[31mtwo"}, want: "one; �[31mtwo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := ""
			if c.want != "" {
				want = fmt.Sprintf("12:00:00.000  default/job           %-9s  %s\n", cmp.Or(c.ev.Phase, v1.PodPending), c.want)
			}
			if got := printLines(c.ready, c.words, at(0, c.ev)); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestRepeatedFailureIsPrintedOnce(t *testing.T) {
	failure := func(after time.Duration, message string) event.Event {
		return at(after, event.Event{Reason: event.Failed, Container: "c", Warning: true, Message: "Error: " + message, Waiting: &event.ContainerWait{Reason: "CreateContainerError", Message: message}})
	}
	got := printLines(false, "", failure(0, "no shim"), failure(10*time.Second, "no shim"), failure(20*time.Second, "still none"), failure(30*time.Second, "no shim"))
	want := "12:00:00.000  default/job           Pending    c: CreateContainerError: no shim\n" +
		"12:00:20.000  default/job           Pending    c: CreateContainerError: still none\n" +
		"12:00:30.000  default/job           Pending    c: CreateContainerError: no shim\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStoppedIsPrintedOnlyAfterStopRequest(t *testing.T) {
	got := printLines(false, "",
		at(0, event.Event{Reason: event.Terminating, Stop: &event.Stop{Grace: 30}}),
		at(1000*ms, event.Event{Reason: event.Stopped}))
	want := "12:00:00.000  default/job           Pending    stopping, up to 30s\n" +
		"12:00:01.000  default/job           Pending    nothing of the pod runs any more\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNaturalEndOfAPodThatWasStoppedBeforeIsNotAStop(t *testing.T) {
	got := printLines(false, "",
		at(0, event.Event{Reason: event.Terminating, Stop: &event.Stop{Grace: 30}}),
		at(1000*ms, event.Event{Reason: event.Stopped}),
		at(2000*ms, event.Event{Reason: event.Starting}),
		at(3000*ms, event.Event{Reason: event.Stopped}))
	if n := strings.Count(got, "nothing of the pod runs any more"); n != 1 {
		t.Errorf("%d times in\n%s", n, got)
	}
}

func TestLinePrinterForgetsRemovedPods(t *testing.T) {
	p := newLinePrinter(Screen{Out: io.Discard}, Options{LastLine: func(event.Event) string { return "" }})
	for _, reason := range []string{event.Starting, event.Terminating, event.Stopped, event.Removed} {
		p.Event(at(0, event.Event{Reason: reason}))
	}
	if len(p.pods) > 0 {
		t.Errorf("kept: %v", p.pods)
	}
}

func TestRuntimeEventLineHasNoPod(t *testing.T) {
	got := printLines(false, "", event.Event{Time: noon, Reason: event.RuntimeDown, Warning: true})
	if want := "12:00:00.000  the runtime does not answer\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogLinePrefix(t *testing.T) {
	var out bytes.Buffer
	p := newLinePrinter(Screen{Out: &out}, Options{})
	p.Note("a note")
	p.Log(LogLine{Namespace: "default", Pod: "job", Container: "c", Text: []byte("as it is\x1b[m")})
	if got, want := out.String(), "a note\ndefault/job/c | as it is\x1b[m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
