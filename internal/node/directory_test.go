package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// otherRuntime writes what a podctl on another runtime has of a pod below the
// same root.
func (w *world) otherRuntime(uid, name string, rec poddir.Record) (volume string) {
	w.t.Helper()
	rec.Owner, rec.Namespace, rec.Name = poddir.OwnerTag("run-x", "crio"), "default", name
	dir := filepath.Join(w.root, "pods", uid)
	volume = filepath.Join(dir, "volumes", "kubernetes.io~empty-dir", "data")
	for _, path := range []string{volume, filepath.Join(w.root, "logs", "default_"+name+"_"+uid)} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := poddir.WriteRecord(dir, rec); err != nil {
		w.t.Fatal(err)
	}
	return volume
}

func TestDirectoryOfOtherRuntimeIsNoLeftover(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		volume := w.otherRuntime("uid-v1", "web", poddir.Record{})
		a := w.podctl("agent", podYAML("web", "sleep 3600"))
		a.until("web", "running", running)
		time.Sleep(10 * time.Second)
		a.drain()
		if _, err := os.Stat(volume); err != nil {
			t.Errorf("the volumes of a pod on another runtime: %v", err)
		}
	})
}

// A pod of one UID on another runtime, of the same manifest for instance, shares
// neither directory nor logs nor record: a job that succeeded there runs here.
func TestPodsOfOneUIDOnTwoRuntimesRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := fixUID("job", podYAML("job", "sleep 1", job))
		d := desire(t, text)[0]
		theirs := w.otherRuntime("fixed-1", "job", poddir.Record{Manifest: poddir.Fingerprint(d.Document), Phase: "Succeeded"})
		a := w.podctl("agent", text)
		if i := a.until("job", "finished", finished); !i.Succeeded() || len(w.calls("StartContainer")) != 1 {
			t.Errorf("status %+v, calls %v", i.Status, w.calls())
		}
		own := filepath.Join(w.root, "pods", "fixed-1@locks")
		if rec := poddir.ReadRecord(own); rec.Owner != "agent@locks" || rec.Phase != "Succeeded" {
			t.Errorf("record %+v", rec)
		}
		if _, err := os.Stat(filepath.Join(w.root, "logs", "default_job_fixed-1@locks", "c", "0.log")); err != nil {
			t.Error(err)
		}
		a.kill()
		b := w.podctl("agent", text) // the next one believes its own record
		if i := b.until("job", "finished", finished); !i.Succeeded() || len(w.calls("StartContainer")) != 1 {
			t.Errorf("after a restart: status %+v, calls %v", i.Status, w.calls())
		}
		b.drain()
		for _, path := range []string{own, filepath.Join(w.root, "logs", "default_job_fixed-1@locks")} {
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", path, err)
			}
		}
		for _, path := range []string{theirs, filepath.Join(w.root, "logs", "default_job_fixed-1")} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("of the other pod: %v", err)
			}
		}
	})
}

// Two podctl processes on two runtimes start pods of one UID at the same time: the
// one that signs the directory second has one of its own.
func TestTakenDirectoryIsReplacedByAnother(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent")
		time.Sleep(1500 * time.Millisecond) // it has begun, and is between two relists
		d := desire(t, fixUID("web", podYAML("web", "sleep 3600")))[0]
		a.opts.Dirs.Name("fixed-1") // as begin asks, before the other process signs
		w.otherRuntime("fixed-1", "web", poddir.Record{})
		a.pods.mu.Lock()
		a.pods.entries["fixed-1"] = &entry{Entry: lifecycle.Entry{Desired: d, Phase: lifecycle.Active}}
		a.pods.mu.Unlock()
		if err := a.records.createWithOwner(d.Pod.UID); err != nil {
			t.Error(err)
		}
		if other := poddir.ReadRecord(filepath.Join(w.root, "pods", "fixed-1")); other.Owner != "run-x@crio" {
			t.Errorf("its record was overwritten: %+v", other)
		}
		if own := poddir.ReadRecord(filepath.Join(w.root, "pods", "fixed-1@locks")); own.Owner != "agent@locks" {
			t.Errorf("record %+v", own)
		}
		a.kill()
	})
}

// The directory of a pod that waits without a sandbox is signed, so that the next
// podctl of the name removes it when the manifest is gone.
func TestLeftoversWithoutSandboxAreRemoved(t *testing.T) {
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

// The record of a predecessor was read, and its directory was deleted after that.
func TestDeletedDirectoryIsRecordedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent")
		time.Sleep(1500 * time.Millisecond) // it has begun, and is between two relists
		d := desire(t, fixUID("web", podYAML("web", "sleep 3600")))[0]
		a.pods.mu.Lock()
		a.pods.entries["fixed-1"] = &entry{Entry: lifecycle.Entry{Desired: d, Phase: lifecycle.Active}, record: poddir.Record{Owner: "run-x@locks"}}
		a.pods.mu.Unlock()
		if err := a.records.createWithOwner(d.Pod.UID); err != nil {
			t.Error(err)
		}
		if rec := poddir.ReadRecord(filepath.Join(w.root, "pods", "fixed-1")); rec.Owner != "agent@locks" {
			t.Errorf("record %+v", rec)
		}
		a.kill()
	})
}

// As on a full disk: the record cannot be written. A podctl that is killed then must
// not leave what no other could remove.
func TestUnrecordablePodLeavesNothingOnHost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pods := filepath.Join(w.root, "pods")
		if err := errors.Join(os.RemoveAll(pods), os.WriteFile(pods, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		a := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		a.until("web", "waiting for its record", func(i Info) bool { return strings.Contains(i.LastError.Text, "record the pod") })
		if logs, _ := filepath.Glob(filepath.Join(w.root, "logs", "*")); len(logs) > 0 {
			t.Errorf("made without a record: %v", logs)
		}
		if err := os.Remove(pods); err != nil {
			t.Fatal(err)
		}
		a.until("web", "running", running)
		a.drain()
		w.empty()
	})
}

// As on a full disk: the record cannot be written.
func TestStopWithoutRecord(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		web := a.until("web", "running", running).Pod
		file := filepath.Join(a.opts.Facts.Dir(web.UID), poddir.RecordFile)
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

func TestPodWithLongestNameRuns(t *testing.T) {
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
func TestPodOfLivePodctlOnOtherRuntimePathIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("agent", web)
		first := a.until("web", "running", running)
		w.locks = "alias"
		b := w.podctl("agent", web)
		b.until("web", "waiting", waits(lifecycle.DirectoryInUse))
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

// A directory that was deleted under a running pod is signed again with what is put
// into it next.
func TestDeletedRecordIsRewritten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", podYAML("web", "sleep 30", "terminationGracePeriodSeconds: 1"))
		dir := a.opts.Facts.Dir(a.until("web", "running", running).Pod.UID)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(45 * time.Second)
		a.until("web", "restarted", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].RestartCount > 0
		})
		if rec := poddir.ReadRecord(dir); rec.Owner != "agent@locks" {
			t.Errorf("record %+v", rec)
		}
		a.drain()
		w.empty()
	})
}

// The manifest of a pod that waits because another runtime's pod has its directory is
// removed: the pod here is stopped, and that of the other runtime keeps what it has.
func TestStopKeepsDirectoryOfOtherRuntime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := fixUID("web", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		a := w.podctl("agent", web)
		a.until("web", "running", running)
		a.kill()
		if err := os.RemoveAll(filepath.Join(w.root, "pods", "fixed-1")); err != nil {
			t.Fatal(err)
		}
		volume := w.otherRuntime("fixed-1", "web", poddir.Record{})
		theirs, err := owner.Open(filepath.Join(w.root, "crio"), "run-x", proc.FS(testutil.EmptyProc(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		if err := theirs.Claim("web_default"); err != nil {
			t.Fatal(err)
		}
		b := w.podctl("agent", web)
		b.until("web", "waiting", waits(lifecycle.DirectoryInUse))
		b.want()
		time.Sleep(time.Minute)
		if got := b.names(); len(got) != 0 {
			t.Errorf("not stopped: %v", got)
		}
		for _, path := range []string{volume, filepath.Join(w.root, "logs", "default_web_fixed-1")} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("of the other runtime's pod: %v", err)
			}
		}
		if rec := poddir.ReadRecord(filepath.Join(w.root, "pods", "fixed-1")); rec.Owner != "run-x@crio" || rec.Stopped() {
			t.Errorf("its record was overwritten: %+v", rec)
		}
		if _, err := os.Stat(filepath.Join(w.root, "pods", "fixed-1@locks")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a directory is left: %v", err)
		}
		b.drain()
	})
}
