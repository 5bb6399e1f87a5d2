package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/event"
)

func TestDiagnosisNamesTheInnermostLayerOfWhichThereIsEvidence(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	within, over := 5*time.Second, -42*time.Second
	ends := func(change func(*control.Worker)) *control.Worker {
		w := &control.Worker{Phase: "terminating", Operation: "terminate", OperationSince: now.Add(-time.Minute), GraceSeconds: 30}
		if change != nil {
			change(w)
		}
		return w
	}
	calls := func(method, container string, ago time.Duration) *control.Worker {
		return ends(func(w *control.Worker) {
			w.Calls = []control.Call{{Method: method, Container: container, Since: now.Add(-ago)}}
		})
	}
	failed := func(layer event.Layer, text string) *control.Worker {
		return ends(func(w *control.Worker) {
			w.Operation, w.LastError, w.NextWake = "", event.Failure{Op: "terminate", Layer: layer, Text: text}, now.Add(8*time.Second)
		})
	}
	db := func(p process, shim int) []downContainer {
		p.pid = 8812
		return []downContainer{{name: "db", id: "c1", process: p, shim: shim}}
	}
	for _, c := range []struct {
		name  string
		facts downFacts
		layer layer
		why   string
		next  string
	}{
		{"nothing is stuck", downFacts{worker: ends(nil), graceLeft: &within, containers: db(process{state: 'S'}, 7)}, layerNone, "", ""},
		{"deaf, within its grace", downFacts{worker: ends(nil), graceLeft: &within, containers: db(process{state: 'S', deaf: true}, 7)},
			layerProcess, "does not listen to SIGTERM", "podctl stop --grace-period 1 default/db"},
		{"D, past its grace", downFacts{worker: ends(nil), graceLeft: &over, containers: db(process{state: 'D', wchan: "nfs_wait"}, 7)},
			layerProcess, "db (pid 8812) cannot be interrupted: it waits in nfs_wait", "cat /proc/8812/stack · podctl rm --force default/db"},
		{"D for a moment, within its grace", downFacts{worker: ends(nil), graceLeft: &within, containers: db(process{state: 'D'}, 7)}, layerNone, "", ""},
		{"D, though it was told to end", downFacts{containers: db(process{state: 'D', pending: true}, 7), sandboxReady: true},
			layerProcess, "where in the kernel is not shown", "cat /proc/8812/stack"},
		{"a zombie", downFacts{worker: ends(nil), graceLeft: &over, containers: db(process{state: 'Z', parent: 7}, 7)},
			layerShim, "is a zombie: its parent, pid 7, does not wait for it", "cat /proc/7/wchan"},
		{"its status cannot be read, and nothing of it runs", downFacts{worker: failed(event.LayerStatus, "read status of sandbox 5ab1: the shim is out to lunch"), sandboxReady: true, mounts: []string{"/var/lib/podctl/pods/u1/volumes/v"}},
			layerRuntime, "it does not tell the pod's status", "podctl pleg check · podctl rm --force default/db"},
		{"stopped by a signal", downFacts{worker: ends(nil), graceLeft: &within, containers: db(process{state: 'T'}, 7)},
			layerProcess, "is stopped, so that SIGTERM waits", "kill -CONT 8812"},
		{"gone, with its shim", downFacts{worker: ends(nil), containers: db(process{}, 0)},
			layerShim, "its shim is gone; the runtime has not noticed", "podctl rm --force default/db"},
		{"gone, without the runtime's notice", downFacts{worker: ends(nil), containers: db(process{}, 7)},
			layerShim, "has ended, and the runtime has not noticed", "podctl rm --force default/db"},
		{"its shim is stopped", downFacts{worker: ends(nil), containers: []downContainer{{name: "db", process: process{pid: 8812, state: 'S'}, shim: 7, shimState: 'T'}}},
			layerShim, "the shim of db (pid 7, T) does not work", "kill -CONT 7"},
		{"lives on without its shim", downFacts{containers: db(process{state: 'S', parent: 1}, 0)},
			layerShim, "the shim of db is gone, and pid 8812 lives on", "kill 8812"},
		{"the runtime does not tell of a container", downFacts{worker: ends(nil), runtimePID: 99, containers: []downContainer{{name: "db", err: errors.New("no answer within 2s")}}},
			layerRuntime, "it does not tell of db: no answer within 2s", "kill -USR1 99"},
		{"StopContainer within the grace", downFacts{worker: calls("StopContainer", "db", 35*time.Second), containers: db(process{state: 'S'}, 7)}, layerNone, "", ""},
		{"StopContainer far beyond it", downFacts{worker: calls("StopContainer", "db", 41*time.Second), graceLeft: &over, containers: db(process{state: 'S'}, 7)},
			layerRuntime, "StopContainer of db has been without an answer for 41s", "podctl pleg check"},
		{"StopPodSandbox hangs", downFacts{worker: calls("StopPodSandbox", "", time.Minute), sandbox: "3f9c1b2a44d0e77", sandboxReady: true},
			layerNetwork, "StopPodSandbox has been without an answer for 1m: it takes down the pod's network", "crictl inspectp 3f9c1b2a44d0e"},
		{"the sandbox does not stop", downFacts{worker: failed(event.LayerSandbox, "stop sandbox 3f9c: plugin type=bridge failed (delete)"), sandboxReady: true},
			layerNetwork, "its sandbox does not stop", "podctl rm --force default/db"},
		{"something is still mounted", downFacts{worker: failed(event.LayerHost, "remove: device or resource busy"), mounts: []string{"/var/lib/podctl/pods/u/volumes/x"}},
			layerVolume, "/var/lib/podctl/pods/u/volumes/x is still mounted", "fuser -vm /var/lib/podctl/pods/u/volumes/x"},
		{"an unmount fails", downFacts{worker: failed(event.LayerVolume, "unmount volume x: busy")}, layerVolume, "its volumes cannot be taken down", ""},
		{"the last try failed", downFacts{worker: failed(event.LayerContainer, "no space left on device"), containers: db(process{state: 'S'}, 7)},
			layerWorker, "the last try failed, again in 8s", "podctl rm --force default/db"},
		{"past its grace, and nobody says why", downFacts{worker: ends(nil), graceLeft: &over}, layerWorker, "its grace is over, and its terminate goes on", "podctl rm --force default/db"},
		{"its podctl died", downFacts{creator: "run-5f2a", since: now, sandboxReady: true, containers: db(process{state: 'S', parent: 7}, 7)},
			layerWorker, "its podctl, run-5f2a, has died while it ended the pod", "podctl rm default/db"},
		{"containers without a sandbox", downFacts{containers: db(process{state: 'S', parent: 7}, 7)},
			layerRuntime, "its sandbox has stopped and its containers have not", "podctl rm --force default/db"},
	} {
		c.facts.name = "default/db"
		got := diagnose(c.facts, now)
		if got.layer != c.layer || !strings.Contains(got.why, c.why) || (c.why == "") != (got.why == "") ||
			!strings.Contains(strings.Join(got.next, " · "), c.next) || (c.next == "") != (len(got.next) == 0) {
			t.Errorf("%s:\n got %s %q %q\nwant %s %q %q", c.name, got.layer, got.why, got.next, c.layer, c.why, c.next)
		}
	}
}

// fakeProc makes a process in a directory that stands for /proc.
func fakeProc(t *testing.T, proc string, pid int, files map[string]string) {
	t.Helper()
	dir := filepath.Join(proc, strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessesAreReadFromProc(t *testing.T) {
	proc := t.TempDir()
	fakeProc(t, proc, 10, map[string]string{ // its name is meant to mislead
		"stat": "10 (a) Z 1 (b) D 7 10 10 0", "wchan": "nfs_wait", "comm": "a) Z 1 (b\n",
		"status": "Name:\tx\nNSpid:\t10\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n",
	})
	fakeProc(t, proc, 11, map[string]string{
		"stat": "11 (sh) S 10 11 11 0", "wchan": "0",
		"status": "NSpid:\t11\t1\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0000000000004000\n",
	})
	fakeProc(t, proc, 12, map[string]string{
		"stat": "12 (sh) R 10 11 11 0", "status": "NSpid:\t12\t2\nSigIgn:\t0000000000004000\n",
	})
	for pid, want := range map[int]process{
		10: {pid: 10, state: 'D', wchan: "nfs_wait", parent: 7, deaf: true, pending: true},
		11: {pid: 11, state: 'S', parent: 10},
		12: {pid: 12, state: 'R', parent: 10, deaf: true},
		13: {pid: 13},
	} {
		if got := readProcess(proc, pid); got != want {
			t.Errorf("%d: %+v, want %+v", pid, got, want)
		}
	}
	if name := commName(proc, 10); name != "a) Z 1 (b" {
		t.Errorf("name %q", name)
	}
	for name, want := range map[string]bool{"containerd-shim": true, "conmon": true, "systemd": false, "": false} {
		if isShim(name) != want {
			t.Errorf("isShim(%q) = %v", name, !want)
		}
	}
}

// This very process, as the kernel shows it.
func TestProcessOfTheKernel(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip(err)
	}
	p := readProcess("/proc", os.Getpid())
	if p.state == 0 || p.parent != os.Getppid() || p.pending {
		t.Errorf("%+v", p)
	}
	if gone := readProcess("/proc", 1<<30); gone.state != 0 {
		t.Errorf("%+v", gone)
	}
}
