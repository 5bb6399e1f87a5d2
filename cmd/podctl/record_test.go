package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/node"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func TestRecordSaysWhatItRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		file := filepath.Join(t.TempDir(), "tape")
		w.pod("default", "job").Start("job", "sleep", "1")
		time.Sleep(2 * time.Second)
		c := w.start(nil, "record", "-o=json", file)
		c.ends(shell.ExitOK, time.Second)
		c.silent()
		var got node.RecordSummary
		if err := json.Unmarshal([]byte(c.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Fatal(info, err)
		}
		if got.Answers < 10 || got.Bytes != info.Size() || got.File != file || got.Runtime != "podctl-sim 2.4.2" || got.Errors != 0 {
			t.Errorf("%+v", got)
		}

		c = w.start(nil, "-r", "tape:"+file, "pods")
		c.ends(shell.ExitOK, time.Second)
		c.printed("default/job", "Completed", "default/web")
	})
}
