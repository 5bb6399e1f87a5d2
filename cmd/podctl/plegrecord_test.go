package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func TestRecordSaysWhatItRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		file := filepath.Join(t.TempDir(), "tape")
		c := w.start(nil, "pleg", "record", "--for=10s", "-o=json", file)
		time.Sleep(5500 * time.Millisecond) // between two full relists
		w.pod("default", "job").Start("job", "sleep", "1")
		c.ends(shell.ExitOK, 6*time.Second)
		c.silent()
		var got pleg.RecordSummary
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
