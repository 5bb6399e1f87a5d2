package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/podrecord"
)

// otherRuntime writes what a podctl on another runtime has of a pod below the
// same root.
func (w *world) otherRuntime(uid, name string, rec podrecord.Record) (volume string) {
	w.t.Helper()
	rec.Owner, rec.Namespace, rec.Name = podrecord.OwnerTag("run-x", "crio"), "default", name
	dir := filepath.Join(w.root, "pods", uid)
	volume = filepath.Join(dir, "volumes", "kubernetes.io~empty-dir", "data")
	for _, path := range []string{volume, filepath.Join(w.root, "logs", "default_"+name+"_"+uid)} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := podrecord.Write(dir, rec); err != nil {
		w.t.Fatal(err)
	}
	return volume
}

func TestDirectoryOfAPodOnAnotherRuntimeIsNotALeftover(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		volume := w.otherRuntime("uid-v1", "web", podrecord.Record{})
		a := w.podctl("agent", podYAML("web", "sleep 3600"))
		a.until("web", "running", running)
		time.Sleep(10 * time.Second)
		a.drain()
		if _, err := os.Stat(volume); err != nil {
			t.Errorf("the volumes of a pod on another runtime: %v", err)
		}
	})
}

func TestRecordOfAnotherRuntimeIsNotBelieved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := fixUID("job", podYAML("job", "sleep 1", job))
		d := desire(t, text)[0]
		w.otherRuntime("fixed-1", "job", podrecord.Record{Manifest: podrecord.Fingerprint(d.Document), Phase: "Succeeded"})
		a := w.podctl("agent", text)
		i := a.until("job", "waiting", waits(lifecycle.DirectoryHeld))
		if i.Succeeded() || i.Status.Phase == "Succeeded" {
			t.Errorf("it counts as succeeded: %+v", i.Status)
		}
		if err := os.RemoveAll(filepath.Join(w.root, "pods", "fixed-1")); err != nil {
			t.Fatal(err)
		}
		if i := a.until("job", "finished", finished); !i.Succeeded() {
			t.Errorf("status %+v", i.Status)
		}
		a.drain()
	})
}

// The directory of a pod that waits without a sandbox is signed, so that the next
// podctl of the name removes it when the manifest is gone.
func TestLeftoversOfAPodWithoutASandboxAreRemovedAtTheNextStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		needs := strings.Replace(podYAML("web", "sleep 3600", "volumes: [{name: v, configMap: {name: missing}}]"),
			"command:", "volumeMounts: [{name: v, mountPath: /v}], command:", 1)
		a := w.podctl("agent", needs)
		a.until("web", "waiting for its ConfigMap", func(i Info) bool { return !i.LastError.IsZero() })
		a.kill()
		if left, _ := os.ReadDir(filepath.Join(w.root, "pods")); len(left) != 1 {
			t.Fatalf("directories: %v", left)
		}
		b := w.podctl("agent")
		time.Sleep(5 * time.Second)
		if left, _ := os.ReadDir(filepath.Join(w.root, "pods")); len(left) != 0 {
			t.Errorf("directories left: %v", left)
		}
		b.drain()
		w.empty()
	})
}

// As on a full disk: the record cannot be written.
func TestPodIsStoppedAlthoughThatCannotBeRecorded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		web := a.until("web", "running", running).Pod
		file := filepath.Join(a.opts.Facts.Dir(web.UID), podrecord.File)
		if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "in-the-way"), 0o700)); err != nil {
			t.Fatal(err)
		}
		var unrecorded *UnrecordedError
		if err := a.Stop(t.Context(), "default", "web", nil); !errors.As(err, &unrecorded) {
			t.Errorf("error %v", err)
		}
		a.until("web", "stopped", func(i Info) bool { return i.Stopped && finished(i) })
		a.drain()
	})
}

func TestPodWithTheLongestNameRuns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		name := strings.Repeat(strings.Repeat("a", 62)+".", 4) + "b" // 253 characters
		a := w.podctl("agent", podYAML(name, "sleep 3600", "terminationGracePeriodSeconds: 1"))
		a.until(name, "running", running)
		if _, held, err := owner.HolderOf(filepath.Join(w.root, "locks"), name+"_default"); err != nil || !held {
			t.Errorf("its name is held: %v, %v", held, err)
		}
		a.drain()
		w.empty()
	})
}

// Two podctls reach one runtime by two paths: a bind mount of its socket, say.
func TestPodOfALivingPodctlOnAnotherPathToTheRuntimeIsLeftToIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("agent", web)
		first := a.until("web", "running", running)
		w.locks = "alias"
		b := w.podctl("agent", web)
		b.until("web", "waiting", waits(lifecycle.DirectoryHeld))
		a.until("web", "running on", running)
		a.kill()
		i := b.until("web", "running", running)
		if !i.Adopted || i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID {
			t.Errorf("not taken over: %+v", i.Status)
		}
		b.drain()
		if got := len(w.calls("RunPodSandbox")); got != 1 {
			t.Errorf("%d sandboxes", got)
		}
	})
}
