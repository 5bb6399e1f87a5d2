package main

import (
	"encoding/json"
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

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/tape"
	"github.com/podctl/podctl/internal/plegstat"
)

// story is a bad minute on a node: faults, hints that are lost, a crash.
func (w *world) story() {
	breaks := func(method string) {
		release := w.sim.Inject(sim.Fault{Method: method, Err: status.Error(codes.Internal, "broken"), Times: -1})
		time.Sleep(1200 * time.Millisecond)
		release()
	}
	time.Sleep(500 * time.Millisecond)
	w.pod("default", "web").start("web", "sleep", "3600")
	time.Sleep(1100 * time.Millisecond)
	job := w.pod("default", "job")
	job.start("job", "sh", "-c", "sleep 2; exit 3")
	time.Sleep(900 * time.Millisecond)
	breaks("ListContainers")
	time.Sleep(800 * time.Millisecond)
	job.start("again", "sleep", "0.3")
	breaks("ContainerStatus")
	time.Sleep(1700 * time.Millisecond)
	w.sim.TamperEvents(func(*runtimeapi.ContainerEventResponse) int { return 0 })
	db := w.pod("default", "db")
	time.Sleep(3300 * time.Millisecond)
	w.sim.TamperEvents(nil)
	release := w.sim.Hang("PodSandboxStatus", "db")
	db.start("db", "sh", "-c", "sleep 5; exit 1")
	time.Sleep(13 * time.Second)
	release()
	time.Sleep(50 * time.Millisecond)
	w.sim.Crash()
	time.Sleep(2650 * time.Millisecond)
	w.sim.Restart()
	time.Sleep(5100 * time.Millisecond)
	job.remove()
	time.Sleep(5300 * time.Millisecond)
	db.remove()
	time.Sleep(30 * time.Second)
}

// TestReplayPrintsWhatAWatchPrinted there and then, to the line.
func TestReplayPrintsWhatAWatchPrinted(t *testing.T) {
	for _, output := range []string{"", "json"} {
		for _, source := range []plegSource{sourceAuto, sourceRelist, sourceEvents} {
			t.Run(fmt.Sprint(source, " ", output), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					time.Sleep(123456789)
					file := filepath.Join(t.TempDir(), "tape")
					var printed screen
					w.watchRecorded(&printed, source, output, file)
					flags := []string{"pleg", "replay", "--initial"}
					if output != "" {
						flags = append(flags, "-o", output)
					}
					began := time.Now()
					replay := w.start(nil, append(flags, file)...)
					replay.ends(shell.ExitOK, time.Second)
					replay.silent()
					if took := time.Since(began); took != 0 {
						t.Errorf("the replay waited for %s", took)
					}
					if got, want := rows(replay.out.String()), rows(printed.String()); got != want || strings.Count(got, "\n") < 15 {
						t.Errorf("replay printed\n%s\nwatch\n%s", got, want)
					}
				})
			})
		}
	}
}

// watchRecorded is a watch of the story, and a recording of what its PLEG is
// told. (Two PLEGs do not do the same: which of a hint and a relist that come
// at the same time is first, is left to chance.)
func (w *world) watchRecorded(out io.Writer, source plegSource, output, file string) {
	w.t.Helper()
	interrupts := make(chan os.Signal, 1)
	e := &shell.Env{
		Out: out, Errw: out, Size: func() (int, int) { return 0, 0 }, Now: time.Now, Interrupts: interrupts, Log: slog.New(slog.DiscardHandler),
		Simulate: func() (*sim.Runtime, func()) { return w.sim, func() {} }, SimOutlives: true,
	}
	g := shell.Globals{Runtime: cri.SimEndpoint, Output: output}
	o := watchOptions{Globals: g, source: source, initial: true}
	c := &watchSession{env: e, opts: o, meter: plegstat.NewMeter(e.Now), calls: cri.NewTimedCalls(e.Now), printer: newWatchPrinter(e, o)}
	var recorder *tape.Recorder
	session, err := openPLEG(w.t.Context(), e, g, plegOptions{source: source, observer: c.meter, calls: c.calls, wrap: func(rt pleg.Runtime) pleg.Runtime {
		recorder = tape.NewRecorder(rt, e.Now)
		return recorder
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := os.Create(file)
	if err == nil {
		err = recorder.Begin(f, tape.Header{Podctl: "v1", Runtime: "sim", HintsOnly: source == sourceEvents})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	c.session, c.subject, c.began = session, session.Subscribe(), e.Now()
	session.start(w.t.Context())
	done := make(chan error)
	go func() { done <- c.run() }()
	w.story()
	interrupts <- os.Interrupt
	err = <-done
	_, ended := recorder.End()
	session.Close()
	if err := errors.Join(err, ended, f.Close()); err != nil {
		w.t.Error(err)
	}
}

// rows are the lines of a watch or replay without those about the recording
// and about calls in flight, and without the widths of columns.
func rows(text string) string {
	text = regexp.MustCompile(`(?m)^.*(recorded 2000-|no answer for|answered after|relists only).*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

func TestRecordSaysWhatItRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").start("web", "sleep", "3600")
		file := filepath.Join(t.TempDir(), "tape")
		c := w.start(nil, "pleg", "record", "--for=10s", "-o=json", file)
		time.Sleep(5500 * time.Millisecond) // between two full relists
		w.pod("default", "job").start("job", "sleep", "1")
		c.ends(shell.ExitOK, 6*time.Second)
		c.silent()
		var got recordSummary
		if err := json.Unmarshal([]byte(c.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Fatal(info, err)
		}
		if got.PodRelists < 2 || got.Hints < 3 || got.StatusReads < 3 || got.Bytes != info.Size() || got.Relists < 3 {
			t.Errorf("%+v", got)
		}
		if got.File != file || got.Runtime != "podctl-sim 2.4.2" || got.Seconds != 10 || got.Errors != 0 {
			t.Errorf("%+v", got)
		}

		before := time.Now()
		c = w.start(nil, "pleg", "replay", "--realtime", file)
		synctest.Wait()
		if strings.Contains(c.out.String(), "default/job") {
			t.Errorf("too early:\n%s", c.out.String())
		}
		time.Sleep(7 * time.Second)
		c.printed("default/job", "ContainerStarted", "ContainerDied")
		c.goesOn()
		c.ends(shell.ExitOK, 4*time.Second)
		if took := time.Since(before); took != 10*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestInterruptedReplayExits130(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		file := filepath.Join(t.TempDir(), "tape")
		w.start(nil, "pleg", "record", "--for=1h", file).ends(shell.ExitOK, 2*time.Hour)
		c := w.start(nil, "pleg", "replay", "--realtime", file)
		time.Sleep(time.Minute)
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		c.silent()
	})
}

// TestRecordingMayBePiped: - is stdout, and what there is to say goes to stderr.
func TestRecordingMayBePiped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(nil, "pleg", "record", "-")
		time.Sleep(1500 * time.Millisecond)
		w.pod("default", "web")
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(shell.ExitOK, time.Second)
		if want := "recorded 2s of podctl-sim 2.4.2: "; !strings.HasPrefix(c.errw.String(), want) || strings.Contains(c.errw.String(), "replay") {
			t.Errorf("stderr %q", c.errw.String())
		}
		c = w.start(strings.NewReader(c.out.String()), "pleg", "replay", "--type=ContainerStarted", "-")
		c.ends(shell.ExitOK, time.Second)
		c.silent()
		c.printed("default/web", "1 event in 2s: 1 ContainerStarted")
	})
}
