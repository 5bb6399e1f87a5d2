package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/node"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func TestRecordSaysWhatItRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		file := filepath.Join(t.TempDir(), "tape")
		c := w.start(nil, "record", "--for=10s", "-o=json", file)
		time.Sleep(5500 * time.Millisecond)
		w.pod("default", "job").Start("job", "sleep", "1")
		c.ends(shell.ExitOK, 6*time.Second)
		c.silent()
		var got node.RecordSummary
		if err := json.Unmarshal([]byte(c.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Fatal(info, err)
		}
		if got.Events < 3 || got.Answers < 10 || got.Bytes != info.Size() || got.File != file || got.Runtime != "podctl-sim 2.4.2" || got.Seconds != 10 || got.Errors != 0 {
			t.Errorf("%+v", got)
		}

		// The lists are as of the end.
		c = w.start(nil, "-r", "tape:"+file, "pods")
		c.ends(shell.ExitOK, time.Second)
		c.printed("default/job", "Completed", "default/web")
	})
}

// An interrupt ends a recording early, and it is complete. - is stdout, and what there is to say
// goes to stderr.
func TestInterruptedRecordingIsComplete(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(nil, "record", "--for=1h", "-")
		time.Sleep(1500 * time.Millisecond)
		w.pod("default", "web")
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(shell.ExitOK, time.Second)
		if want := "recorded podctl-sim 2.4.2 for 2s: "; !strings.HasPrefix(c.errw.String(), want) || strings.Contains(c.errw.String(), "hint") {
			t.Errorf("stderr %q", c.errw.String())
		}
		file := filepath.Join(t.TempDir(), "tape")
		if err := os.WriteFile(file, []byte(c.out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c = w.start(nil, "-r", "tape:"+file, "pods")
		c.ends(shell.ExitOK, time.Second)
		c.silent()
		c.printed("default/web")
	})
}
