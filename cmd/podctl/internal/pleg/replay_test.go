package pleg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/cmd/podctl/internal/simpod"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pleg/tape"
)

// story is a bad minute on a node: faults, hints that are lost, a crash.
func story(t *testing.T, runtime *sim.Runtime) {
	t.Helper()
	breaks := func(method string) {
		release := runtime.Inject(sim.Fault{Method: method, Err: status.Error(codes.Internal, "broken"), Times: -1})
		time.Sleep(1200 * time.Millisecond)
		release()
	}
	time.Sleep(500 * time.Millisecond)
	simpod.Run(t, runtime, "default", "web").Start("web", "sleep", "3600")
	time.Sleep(1100 * time.Millisecond)
	job := simpod.Run(t, runtime, "default", "job")
	job.Start("job", "sh", "-c", "sleep 2; exit 3")
	time.Sleep(900 * time.Millisecond)
	breaks("ListContainers")
	time.Sleep(800 * time.Millisecond)
	job.Start("again", "sleep", "0.3")
	breaks("ContainerStatus")
	time.Sleep(1700 * time.Millisecond)
	runtime.TamperEvents(func(*runtimeapi.ContainerEventResponse) int { return 0 })
	db := simpod.Run(t, runtime, "default", "db")
	time.Sleep(3300 * time.Millisecond)
	runtime.TamperEvents(nil)
	release := runtime.Hang("PodSandboxStatus", "db")
	db.Start("db", "sh", "-c", "sleep 5; exit 1")
	time.Sleep(13 * time.Second)
	release()
	time.Sleep(50 * time.Millisecond)
	runtime.Crash()
	time.Sleep(2650 * time.Millisecond)
	runtime.Restart()
	time.Sleep(5100 * time.Millisecond)
	job.Remove()
	time.Sleep(5300 * time.Millisecond)
	db.Remove()
	time.Sleep(30 * time.Second)
}

// TestReplayPrintsWhatAWatchPrinted there and then, to the line.
func TestReplayPrintsWhatAWatchPrinted(t *testing.T) {
	for _, formatName := range []string{"", "json", "name"} {
		for _, source := range []eventSource{sourceAuto, sourceRelist, sourceEvents} {
			t.Run(fmt.Sprint(source, " ", formatName), func(t *testing.T) {
				dir := t.TempDir()
				t.Setenv("TMPDIR", dir)
				synctest.Test(t, func(t *testing.T) {
					runtime := sim.New(sim.Options{Record: true})
					defer runtime.Close()
					time.Sleep(123456789)
					file := filepath.Join(dir, "tape")
					var printed bytes.Buffer
					watchRecorded(t, runtime, &printed, source, formatName, file)
					began := time.Now()
					var replayed, said bytes.Buffer
					e := testEnv(runtime, &replayed, &said, nil)
					err := runReplay(t.Context(), e, replayOptions{watchOptions: watchOptions{format: format(t, formatName), initial: true}, file: file})
					if err != nil || said.Len() > 0 {
						t.Errorf("%v, stderr %q", err, said.String())
					}
					if took := time.Since(began); took != 0 {
						t.Errorf("the replay waited for %s", took)
					}
					if got, want := rows(replayed.String()), rows(printed.String()); got != want || strings.Count(got, "\n") < 15 {
						t.Errorf("replay printed\n%s\nwatch\n%s", got, want)
					}
				})
			})
		}
	}
}

// format is a value of --output.
func format(t *testing.T, value string) output.Format {
	t.Helper()
	f, err := output.ParseFormat(value)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// testEnv is an Env on a simulated runtime.
func testEnv(runtime *sim.Runtime, out, errw io.Writer, interrupts chan os.Signal) *shell.Env {
	return &shell.Env{
		Out: out, Errw: errw, Size: func() (int, int) { return 0, 0 }, Now: time.Now, Interrupts: interrupts, Log: slog.New(slog.DiscardHandler),
		Simulate: func() (*sim.Runtime, func()) { return runtime, func() {} }, SimOutlives: true,
	}
}

// watchRecorded is a watch of the story, and a recording of what its PLEG is
// told. (Two PLEGs do not do the same: which of a hint and a relist that come
// at the same time is first, is left to chance.)
func watchRecorded(t *testing.T, runtime *sim.Runtime, out io.Writer, source eventSource, output, file string) {
	t.Helper()
	interrupts := make(chan os.Signal, 1)
	e := testEnv(runtime, out, out, interrupts)
	g := shell.Globals{Runtime: cri.SimEndpoint}
	o := watchOptions{Globals: g, format: format(t, output), source: source, initial: true}
	c := &watchSession{env: e, opts: o, meter: plegstat.NewMeter(e.Now), calls: cri.NewTimedCalls(e.Now), printer: newWatchPrinter(e, o)}
	var recorder *tape.Recorder
	session, err := open(t.Context(), e, g, sessionOptions{source: source, observer: c.meter, calls: c.calls, wrap: func(rt pleg.Runtime) pleg.Runtime {
		recorder = tape.NewRecorder(rt, e.Now)
		return recorder
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err == nil {
		err = recorder.Begin(f, tape.Header{Podctl: "v1", Runtime: "sim", HintsOnly: source == sourceEvents})
	}
	if err != nil {
		t.Fatal(err)
	}
	c.session, c.subject, c.began = session, session.Subscribe(), e.Now()
	session.start(t.Context())
	done := make(chan error)
	go func() { done <- c.run() }()
	story(t, runtime)
	interrupts <- os.Interrupt
	err = <-done
	_, ended := recorder.End()
	session.Close()
	if err := errors.Join(err, ended, f.Close()); err != nil {
		t.Error(err)
	}
}

// rows are the lines of a watch or replay without those about the recording
// and about calls in flight, and without the widths of columns.
func rows(text string) string {
	text = regexp.MustCompile(`(?m)^.*(recorded 2000-|no answer for|answered after|relists only).*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}
