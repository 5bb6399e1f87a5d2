package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// A live podctl process that does not answer keeps its pods, and all directories.
func TestPodsOfASilentPodctlAreNoOrphans(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		live := w.run(keptManifest)
		w.plant("bare", "sleep", "3600")
		w.write("root/pods/uid-dir/etc-hosts", "")
		sockets, err := filepath.Glob(filepath.Join(w.dir, "run/*/*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets: %v %v", sockets, err)
		}
		if err := os.Rename(sockets[0], sockets[0]+".aside"); err != nil {
			t.Fatal(err)
		}
		out := w.ran(0, 10*time.Second, "orphans")
		expect(t, out, "default/bare", "directories are not judged: podctl \"run-", "is alive and does not answer")
		if fields(out, "default/kept") != "" || fields(out, "uid-dir") != "" {
			t.Errorf("named:\n%s", out)
		}
		expect(t, w.ran(0, time.Minute, "orphans", "--kill", "--rm"), "default/bare removed\n")
		if err := os.Rename(sockets[0]+".aside", sockets[0]); err != nil {
			t.Fatal(err)
		}
		expect(t, fields(w.ran(0, time.Second, "pods"), "default/kept"), "Running syncing")

		// The directory of a podctl process on another runtime is not judged.
		other, err := owner.Open(filepath.Join(w.dir, "run/other"), "agent", proc.Default)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, w.ran(0, 10*time.Second, "orphans"), "no orphans", `podctl "agent" is alive and does not answer`)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		w.write("root/pods/uid-dir/podctl.json", `{"owner": "agent@other", "namespace": "default", "name": "theirs"}`)
		w.write("root/pods/uid-held/podctl.json", `{"owner": "agent@`+filepath.Base(filepath.Dir(sockets[0]))+`", "namespace": "default", "name": "held", "held": true}`)
		if out := w.ran(0, 10*time.Second, "orphans"); !strings.HasSuffix(out, "no orphans\n") {
			t.Errorf("named:\n%s", out)
		}
		w.write("root/pods/uid-dir/podctl.json", `{"owner": "agent@`+filepath.Base(filepath.Dir(sockets[0]))+`", "namespace": "default", "name": "ours"}`)
		expect(t, fields(w.ran(0, 10*time.Second, "orphans"), "default/ours"), "directory", "agent, exited")
		live.interrupt()
		live.ends(shell.ExitInterrupted, 30*time.Second)
	})
}
