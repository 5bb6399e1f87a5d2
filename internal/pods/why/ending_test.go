package why

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	sigTERM = 1 << (15 - 1)
	sigKILL = 1 << (9 - 1)
)

var (
	within = 5 * time.Second
	over   = -42 * time.Second
	shim   = proc.Process{PID: 7, State: proc.Sleeping, Comm: "containerd-shim"}
)

// ended is what is seen of a pod that is being terminated.
type ended struct {
	Owner                               view.Ownership
	OwnerPID                            int
	OwnerName, Name                     string
	Worker                              *control.Worker
	Server                              cri.Server
	KubeletTerminates, Unnamed, Counted bool
	Requested                           time.Time
	GraceLeft                           *time.Duration
	Containers                          []view.ContainerProcess
	Sandbox                             string
	SandboxReady, NetworkHeld           bool
	Mounts                              []string
}

func (e ended) pod() *view.Pod {
	p := &view.Pod{Metadata: view.Metadata{Namespace: "default", Name: e.Name}, Owner: view.Owner{Instance: e.OwnerName}, Server: e.Server, Ending: view.Ending{
		KubeletTerminates: e.KubeletTerminates, Unnamed: e.Unnamed, Counted: e.Counted, Requested: e.Requested, GraceLeft: e.GraceLeft,
		Containers: e.Containers, Sandbox: e.Sandbox, SandboxReady: e.SandboxReady, NetworkHeld: e.NetworkHeld, Mounts: e.Mounts,
	}}
	own(p, e.Owner)
	p.Verdict.Process.PID = e.OwnerPID
	if e.Worker != nil {
		p.Manager, p.Worker, p.Ending.LastError = &control.Process{}, *e.Worker, e.Worker.LastError
	}
	return p
}

// own makes a pod one of an owner.
func own(p *view.Pod, by view.Ownership) {
	p.Manager, p.Runtime, p.Creator, p.Verdict = nil, nil, "", owners.Verdict{}
	switch by {
	case view.OwnedByPodctl:
		p.Manager = &control.Process{}
		return
	case view.OwnedByKubelet:
		p.Verdict.Kind = owners.ByKubelet
	case view.OwnedBySilent, view.OwnedBySuspended, view.OwnedByExited:
		p.Runtime, p.Creator = &pod.Pod{}, "agent"
		if by != view.OwnedByExited {
			p.Verdict.Kind, p.Verdict.Process.Stopped = owners.ByPodctl, by == view.OwnedBySuspended
		}
	case view.OwnedByOther:
	}
	p.Worker = control.Worker{}
}

// ends is the worker of a pod that is being terminated.
func ends(change func(*control.Worker)) *control.Worker {
	w := &control.Worker{Phase: "terminating", Operation: "terminate", OperationSince: now.Add(-time.Minute), GraceSeconds: 30}
	if change != nil {
		change(w)
	}
	return w
}

func calls(method, container string, ago time.Duration) *control.Worker {
	return ends(func(w *control.Worker) {
		w.Calls = []control.Call{{Method: method, Container: container, Since: now.Add(-ago)}}
	})
}

func endFailed(layer event.Layer) *control.Worker {
	return ends(func(w *control.Worker) {
		w.Operation, w.NextWake = "", now.Add(8*time.Second)
		w.LastError = event.Failure{Op: "terminate", Layer: layer, Text: "some text"}
	})
}

// db is a container whose first process is as given.
func db(p proc.Process, shim proc.Process) []view.ContainerProcess {
	p.PID = 8812
	return []view.ContainerProcess{{Name: "db", ID: "c1", PID: 8812, Process: p, Shim: shim}}
}

// having changes the only container.
func having(all []view.ContainerProcess, change func(*view.ContainerProcess)) []view.ContainerProcess {
	change(&all[0])
	return all
}

var asleep = proc.Process{State: proc.Sleeping, Parent: 7}

func TestVerdictNamesTheInnermostLayerWithEvidence(t *testing.T) {
	ignores := proc.Process{State: proc.Sleeping, Ignored: sigTERM, Parent: 7}
	handles := proc.Process{State: proc.Sleeping, Caught: sigTERM, Parent: 7}
	for _, c := range []struct {
		name  string
		facts ended
		layer Layer
		why   string
		next  string
	}{
		{"nothing is stuck", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(asleep, shim)}, LayerNone, "", ""},
		{"TERM ignored within the grace period", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(ignores, shim)},
			LayerProcess, "db (pid 8812) ignores SIGTERM; it is killed when the grace period ends", "podctl stop --grace-period 1 default/db"},
		{"TERM blocked", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Sleeping, Blocked: sigTERM, Pending: sigTERM}, shim)},
			LayerProcess, "db (pid 8812) blocks SIGTERM; it is killed when the grace period ends", "podctl stop --grace-period 1 default/db"},
		{"a shell with a handler that forks", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Uninterruptible, Blocked: sigTERM, Caught: sigTERM}, shim)}, LayerNone, "", ""},
		{"PID 1 without a handler", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Sleeping, PIDs: []int{8812, 1}}, shim)},
			LayerProcess, "is PID 1 of its namespace without a handler for SIGTERM", "podctl stop --grace-period 1 default/db"},
		{"PID 1 that reads TERM from a signalfd", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Sleeping, PIDs: []int{8812, 1}, Blocked: sigTERM}, shim)}, LayerNone, "", ""},
		{"PID 1 that waits for TERM", ended{Worker: ends(nil), GraceLeft: &within, Containers: having(db(proc.Process{State: proc.Sleeping, PIDs: []int{8812, 1}}, shim), func(c *view.ContainerProcess) {
			c.WaitChannel = "do_sigtimedwait.isra.0"
		})}, LayerNone, "", ""},
		{"TERM handled for 20 s", ended{Worker: calls("StopContainer", "db", 20*time.Second), Requested: now.Add(-20 * time.Second), GraceLeft: &within, Containers: db(handles, shim)},
			LayerProcess, "db (pid 8812) handles SIGTERM, asked for 20s ago, and runs on; it is killed in 5s", "podctl stop --grace-period 1 default/db"},
		{"TERM handled for 2 s", ended{Worker: calls("StopContainer", "db", 2*time.Second), Requested: now.Add(-2 * time.Second), GraceLeft: &within, Containers: db(handles, shim)},
			LayerProcess, "handles SIGTERM, asked for 2s ago", "podctl stop --grace-period 1 default/db"},
		{"TERM handled for a second", ended{Worker: calls("StopContainer", "db", time.Second), Requested: now.Add(-time.Second), GraceLeft: &within, Containers: db(handles, shim)}, LayerNone, "", ""},
		{"a handler for TERM, which is not sent yet", ended{Worker: ends(nil), Requested: now.Add(-40 * time.Second), GraceLeft: &within, Containers: db(handles, shim)}, LayerNone, "", ""},
		{"a suspended owner", ended{Owner: view.OwnedBySuspended, OwnerPID: 4711, OwnerName: "agent", Requested: now.Add(-40 * time.Second), GraceLeft: &within, Containers: db(handles, shim)},
			LayerWorker, "its owner, podctl agent (pid 4711), is suspended (state T) while it terminates the pod", "kill -CONT 4711"},
		{"TERM ignored while the preStop hook runs", ended{Worker: calls("ExecSync", "db", 4*time.Second), GraceLeft: &within, Containers: db(ignores, shim)},
			LayerHook, "the preStop hook of db has been running for 4s; SIGTERM follows it", "podctl stop --grace-period 1 default/db"},
		{"TERM ignored in a kubelet's pod", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, SandboxReady: true, Containers: db(ignores, shim)},
			LayerProcess, "ignores SIGTERM", "kill -KILL 8812"},
		{"preStop hook in a kubelet's pod", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, SandboxReady: true, Containers: having(db(ignores, shim), func(c *view.ContainerProcess) {
			c.PreStop, c.Hook = true, proc.Process{PID: 9001, Comm: "sleep"}
		})}, LayerHook, "sleep (pid 9001) was started by an exec in db, probably as its preStop hook", "kill -KILL 8812"},
		{"a kubelet's pod during its grace period", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, SandboxReady: true, Containers: having(db(asleep, shim), func(c *view.ContainerProcess) {
			grace := time.Minute
			c.Grace = &grace
		})}, LayerNone, "the kubelet terminates it, and db has not exited; its grace period is 1m0s", ""},
		{"an exec in a kubelet's pod that runs on", ended{Owner: view.OwnedByKubelet, SandboxReady: true, Containers: having(db(ignores, shim), func(c *view.ContainerProcess) {
			c.PreStop, c.Hook = true, proc.Process{PID: 9001, Comm: "sh"}
		})}, LayerNone, "", ""},
		{"its profile lets no signal in", ended{Worker: ends(nil), GraceLeft: &within, Containers: having(db(handles, shim), func(c *view.ContainerProcess) {
			c.Denied = []denied.Group{{Denial: denied.Denial{By: denied.AppArmor, Action: "receive signal term", Profile: "p", Time: now}, Count: 3}}
		})}, LayerKernel, "db (pid 8812) was denied: receive signal term, by AppArmor profile p, 3 times", KernelDenied},
		{"D, past its grace", ended{Worker: ends(nil), GraceLeft: &over, Containers: having(db(proc.Process{State: proc.Uninterruptible}, shim), func(c *view.ContainerProcess) { c.WaitChannel = "nfs_wait" })},
			LayerProcess, "db (pid 8812) is in uninterruptible sleep in nfs_wait", "cat /proc/8812/stack · podctl rm --force default/db"},
		{"D for a moment, within its grace", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Uninterruptible}, shim)}, LayerNone, "", ""},
		{"D with a pending SIGKILL", ended{Containers: db(proc.Process{State: proc.Uninterruptible, Pending: sigKILL}, shim), SandboxReady: true},
			LayerProcess, "is in uninterruptible sleep", "cat /proc/8812/stack"},
		{"frozen", ended{Owner: view.OwnedByKubelet, SandboxReady: true, Containers: having(db(proc.Process{State: proc.Uninterruptible, Pending: sigKILL}, shim), func(c *view.ContainerProcess) {
			c.Frozen = "/sys/fs/cgroup/freezer/kubepods/pod1/freezer.state"
		})}, LayerCgroup, "db (pid 8812) is frozen by the cgroup /sys/fs/cgroup/freezer/kubepods/pod1/freezer.state", "echo THAWED > /sys/fs/cgroup/freezer/kubepods/pod1/freezer.state"},
		{"frozen, cgroup v2", ended{Worker: ends(nil), Containers: having(db(asleep, shim), func(c *view.ContainerProcess) { c.Frozen = "/sys/fs/cgroup/pod1/cgroup.freeze" })},
			LayerCgroup, "frozen by", "echo 0 > /sys/fs/cgroup/pod1/cgroup.freeze"},
		{"a zombie", ended{Worker: ends(nil), GraceLeft: &over, Containers: db(proc.Process{State: proc.Zombie, Parent: 7}, shim)},
			LayerShim, "is a zombie: its parent, pid 7, does not wait for it", "cat /proc/7/wchan"},
		{"status unreadable, nothing runs", ended{Worker: endFailed(event.LayerStatus), SandboxReady: true, Mounts: []string{"/var/lib/podctl/pods/u1/volumes/v"}},
			LayerRuntime, "the runtime does not report the pod's status", "podctl pleg check · podctl rm --force default/db"},
		{"stopped by a signal", ended{Worker: ends(nil), GraceLeft: &within, Containers: db(proc.Process{State: proc.Stopped}, shim)},
			LayerProcess, "is stopped: SIGTERM stays pending", "kill -CONT 8812"},
		{"gone", ended{Worker: ends(nil), Containers: having(db(proc.Process{}, proc.Process{}), func(c *view.ContainerProcess) { c.Gone = true })},
			LayerShim, "has exited; the runtime still reports it as running", "podctl rm --force default/db"},
		{"its shim is stopped", ended{Worker: ends(nil), Containers: db(asleep, proc.Process{PID: 7, State: proc.Stopped})},
			LayerShim, "the shim of db (pid 7) is stopped", "kill -CONT 7"},
		{"the shim of podctl's pod is stopped, and its rm --force waits for it", ended{Worker: ends(nil), Containers: db(asleep, proc.Process{PID: 7, State: proc.Stopped, Comm: "containerd-shim"})},
			LayerShim, "the shim of db (pid 7) is stopped", "kill -CONT 7 · kill -KILL 7"},
		{"the shim of a kubelet's pod is stopped", ended{Owner: view.OwnedByKubelet, SandboxReady: true, Containers: db(asleep, proc.Process{PID: 7, State: proc.Stopped, Comm: "containerd-shim"})},
			LayerShim, "the shim of db (pid 7) is stopped", "kill -CONT 7 · kill -KILL 7"},
		{"runc kill hangs", ended{Owner: view.OwnedByKubelet, SandboxReady: true, Containers: having(db(asleep, shim), func(c *view.ContainerProcess) {
			c.Kill, c.KillAge = proc.Process{PID: 400, Comm: "runc"}, 12*time.Second
		})}, LayerShim, "the shim of db waits for runc (pid 400), which has been sending the signal for 12s", "cat /proc/400/stack"},
		{"without its shim", ended{Owner: view.OwnedByKubelet, Containers: db(proc.Process{State: proc.Sleeping, Parent: 1}, proc.Process{})},
			LayerShim, "db (pid 8812) has no shim: its parent is pid 1", "kill -KILL 8812"},
		{"the runtime does not report a container", ended{Worker: ends(nil), Server: cri.Server{PID: 99, Comm: "containerd"}, Containers: []view.ContainerProcess{{Name: "db", Err: errors.New("no answer within 2s")}}},
			LayerRuntime, "the runtime does not report the status of db: no answer within 2s", "kill -USR1 99"},
		{"StopContainer within the grace", ended{Worker: calls("StopContainer", "db", 35*time.Second), Containers: db(asleep, shim)}, LayerNone, "", ""},
		{"StopContainer far beyond it", ended{Worker: calls("StopContainer", "db", 41*time.Second), GraceLeft: &over, Containers: db(asleep, shim)},
			LayerRuntime, "StopContainer of db has been in flight for 41s", "podctl pleg check"},
		{"StopPodSandbox hangs", ended{Worker: calls("StopPodSandbox", "", time.Minute), Sandbox: "3f9c1b2a44d0e77", SandboxReady: true},
			LayerNetwork, "StopPodSandbox has been in flight for 1m0s: it tears down the pod's network", "crictl inspectp 3f9c1b2a44d0e"},
		{"a lock is held", ended{Worker: waitsFor(control.Lock{Path: "/run/podctl", Since: now.Add(-5 * time.Second), PID: 77, Command: "flock"}), Mounts: []string{"/m"}},
			LayerLock, "cleanup has been waiting for the lock on /run/podctl for 5s, which flock (pid 77) holds", "ps -fp 77"},
		{"a lock is held by a process that is not visible", ended{Worker: waitsFor(control.Lock{Path: "/run/podctl", Since: now.Add(-5 * time.Second)})},
			LayerLock, "the lock on /run/podctl for 5s; its holder is not visible", "fuser -v /run/podctl"},
		{"a lock is waited for briefly", ended{Worker: waitsFor(control.Lock{Path: "/run/podctl", Since: now.Add(-time.Second / 2), PID: 77})}, LayerNone, "", ""},
		{"the sandbox does not stop", ended{Worker: endFailed(event.LayerSandbox), SandboxReady: true},
			LayerNetwork, "its sandbox does not stop", "podctl rm --force default/db"},
		{"the network of a stopped sandbox is not torn down", ended{Worker: endFailed(event.LayerSandbox), NetworkHeld: true, Mounts: []string{"/m"}},
			LayerNetwork, "its sandbox does not stop", "podctl rm --force default/db"},
		{"a stopped sandbox is not removed", ended{Worker: endFailed(event.LayerSandbox), Mounts: []string{"/m"}},
			LayerRuntime, "the runtime cannot stop or remove its sandbox", "podctl pleg check"},
		{"another failure of a pod with volumes", ended{Worker: endFailed(event.LayerContainer), Mounts: []string{"/m"}},
			LayerWorker, "the last terminate failed", "podctl rm --force default/db"},
		{"the network of a bare pod is not torn down", ended{Owner: view.OwnedByOther, Sandbox: "3f9c1b2a44d0e77", NetworkHeld: true},
			LayerNetwork, "its sandbox has stopped, the pod's network has not been torn down", "crictl inspectp 3f9c1b2a44d0e · crictl rmp --force 3f9c1b2a44d0e"},
		{"the network of a kubelet's pod is not torn down", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, Sandbox: "3f9c1b2a44d0e77", NetworkHeld: true, Mounts: []string{"/m"}},
			LayerNetwork, "the pod's network has not been torn down", "crictl inspectp 3f9c1b2a44d0e"},
		{"the sandbox of a kubelet's pod runs", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, Sandbox: "3f9c1b2a44d0e77", SandboxReady: true, Mounts: []string{"/m"}}, LayerNone, "", ""},
		{"still mounted", ended{Worker: endFailed(event.LayerHost), Mounts: []string{"/var/lib/podctl/pods/u/volumes/x"}},
			LayerVolume, "/var/lib/podctl/pods/u/volumes/x is still mounted", "fuser -vm /var/lib/podctl/pods/u/volumes/x"},
		{"an unmount fails", ended{Worker: endFailed(event.LayerVolume)}, LayerVolume, "its volumes cannot be unmounted", ""},
		{"a kubelet's volume is still mounted", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, Mounts: []string{"/var/lib/kubelet/pods/u/volumes/x"}},
			LayerVolume, "/var/lib/kubelet/pods/u/volumes/x is still mounted", "fuser -vm /var/lib/kubelet/pods/u/volumes/x"},
		{"the runtime may not signal its process", ended{Worker: ends(func(w *control.Worker) {
			w.Operation, w.LastError = "", event.Failure{Op: "terminate", Text: "unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: permission denied"}
		}), Containers: db(asleep, shim)},
			LayerKernel, "means: the kernel does not let the runtime signal", "journalctl -k"},
		{"the same, while it is stopped once more", ended{Worker: ends(func(w *control.Worker) {
			w.LastError = event.Failure{Op: "terminate", Text: "unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: permission denied"}
		}), GraceLeft: &over, Containers: db(asleep, shim)},
			LayerKernel, "the grace period ended 42s ago, and terminate is still in progress; means: the kernel does not let the runtime signal", "journalctl -k"},
		{"the last operation failed", ended{Worker: endFailed(""), Containers: db(asleep, shim)},
			LayerWorker, "the last terminate failed, retry in 8s", "podctl rm --force default/db"},
		{"containerd keeps the task of a dead container", ended{Worker: ends(func(w *control.Worker) {
			w.LastError = event.Failure{Op: "cleanup", Layer: event.LayerContainer, Text: `remove container 5b4f9f436ef1a: failed to delete containerd container "5b4f": cannot delete running task 5b4f: failed precondition`}
		})}, LayerRuntime, "it still has a task for it", "systemctl restart containerd"},
		{"past its grace, without another cause", ended{Worker: ends(nil), GraceLeft: &over}, LayerWorker, "the grace period ended 42s ago, and terminate is still in progress", "podctl rm --force default/db"},
		{"its podctl exited", ended{Owner: view.OwnedByExited, OwnerName: "run-5f2a", Requested: now, SandboxReady: true, Containers: db(asleep, shim)},
			LayerWorker, "its owner, podctl run-5f2a, exited while it terminated the pod", "podctl rm default/db"},
		{"containers without a sandbox", ended{Owner: view.OwnedByKubelet, Containers: db(asleep, shim)},
			LayerRuntime, "its sandbox has stopped, its containers have not", "kill -KILL 8812"},
		{"processes of another PID namespace", ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, SandboxReady: true, Containers: []view.ContainerProcess{{Name: "db", PID: 8812, Hidden: true}}},
			LayerNone, "the processes of db are not visible from here", "in the runtime's PID namespace"},
	} {
		c.facts.Name = "db"
		if c.facts.Worker != nil {
			c.facts.Owner = view.OwnedByPodctl
		}
		got := Ending(c.facts.pod(), now)
		if got.Layer != c.layer || !strings.Contains(got.Why(now), c.why) || (c.why == "") != (got.Why(now) == "") ||
			!strings.Contains(strings.Join(got.Next, " · "), c.next) || (c.next == "") != (len(got.Next) == 0) {
			t.Errorf("%s:\n got %s %q %q\nwant %s %q %q", c.name, got.Layer, got.Why(now), got.Next, c.layer, c.why, c.next)
		}
		if (got.Layer == LayerNone) == slices.Contains(StuckLayers(), got.Layer) {
			t.Errorf("%s: %s is not among the layers that are counted", c.name, got.Layer)
		}
		if c.facts.Owner == view.OwnedByKubelet && strings.Contains(strings.Join(got.Next, " "), "podctl rm") {
			t.Errorf("%s: podctl rm refuses a kubelet's pod: %q", c.name, got.Next)
		}
	}
}

// A kubelet has every container killed when the grace period ends: what runs on well
// after that waits for the runtime, unless something further in shows.
func TestKubeletsPodPastItsGracePeriodWaitsForTheRuntime(t *testing.T) {
	hour, moment := -time.Hour, -5*time.Second
	overdue := func(left *time.Duration, containers ...view.ContainerProcess) ended {
		return ended{Owner: view.OwnedByKubelet, Name: "db", KubeletTerminates: true, SandboxReady: true, Sandbox: "3f9c1b2a44d0e77", GraceLeft: left, Containers: containers}
	}
	for _, c := range []struct {
		name       string
		facts      ended
		layer      Layer
		confidence Confidence
		why, next  string
	}{
		{"for an hour", overdue(&hour, db(asleep, shim)...), LayerRuntime, Likely, "the grace period ended 1h0m0s ago, and db has not exited", "podctl pleg check · kill -KILL 8812"},
		{"for a moment", overdue(&moment, db(asleep, shim)...), LayerNone, Observed, "", ""},
		{"its containers have exited", overdue(&hour), LayerNetwork, Likely, "the grace period ended 1h0m0s ago, and its sandbox has not stopped", "crictl inspectp 3f9c1b2a44d0e"},
		{"its shim is stopped", overdue(&hour, db(asleep, proc.Process{PID: 7, State: proc.Stopped})...), LayerShim, Observed, "the shim of db (pid 7) is stopped", "kill -CONT 7"},
	} {
		v := Ending(c.facts.pod(), now)
		if v.Layer != c.layer || v.Confidence != c.confidence || v.Why(now) != c.why || strings.Join(v.Next, " · ") != c.next {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// waitsFor is a worker whose cleanup waits for a lock.
func waitsFor(l control.Lock) *control.Worker {
	return &control.Worker{Phase: "terminated", Operation: "cleanup", Locks: []control.Lock{l}}
}

// A volume is observed to be the cause if its unmount failed, or if nothing else of the
// pod is left.
func TestAMountIsTheObservedCauseOnlyIfNothingElseIsLeft(t *testing.T) {
	mounts := []string{"/m"}
	for name, c := range map[string]struct {
		facts ended
		want  Confidence
	}{
		"the unmount fails":       {ended{Owner: view.OwnedByPodctl, Worker: endFailed(event.LayerVolume), Mounts: mounts}, Observed},
		"a directory is not gone": {ended{Owner: view.OwnedByPodctl, Worker: endFailed(event.LayerHost), Mounts: mounts}, Likely},
		"a kubelet's, no sandbox": {ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, Mounts: mounts}, Observed},
		"a kubelet's, a sandbox":  {ended{Owner: view.OwnedByKubelet, KubeletTerminates: true, Sandbox: "s1", Mounts: mounts}, Likely},
	} {
		if got := Ending(c.facts.pod(), now); got.Layer != LayerVolume || got.Confidence != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// nginx is asked to end with SIGQUIT, systemd with SIGRTMIN+3: what becomes of SIGTERM
// says nothing of them.
func TestTheStopSignalIsTheOneThatTheRuntimeSends(t *testing.T) {
	const sigQUIT, sigRTMIN3 = 1 << (syscall.SIGQUIT - 1), 1 << (37 - 1)
	for _, c := range []struct {
		signal  string
		ignored proc.SignalSet
		why     string
	}{
		{"SIGQUIT", sigTERM, ""},
		{"SIGQUIT", sigQUIT, "ignores SIGQUIT; it is killed"},
		{"SIGRTMIN+3", sigTERM, ""},
		{"SIGRTMIN+3", sigRTMIN3, "ignores SIGRTMIN+3"},
		{"SIGRTMAX-27", sigRTMIN3, "ignores SIGRTMAX-27"},
		{"SIGCLD", sigTERM, ""}, // a name that the kernel's list does not have
		{"SIGTERM", sigTERM, "ignores SIGTERM"},
		{"", sigTERM, "ignores SIGTERM"},
	} {
		f := ended{Worker: ends(nil), GraceLeft: &within, Containers: having(db(proc.Process{State: proc.Sleeping, PIDs: []int{8812, 1}, Ignored: c.ignored, Caught: sigTERM | sigQUIT | sigRTMIN3}, shim), func(d *view.ContainerProcess) {
			d.StopSignal, d.WaitChannel = c.signal, "do_select"
		})}
		if v := Ending(f.pod(), now); (v.Layer == LayerProcess) != (c.why != "") || !strings.Contains(v.Why(now), c.why) {
			t.Errorf("%q, ignored %x: %+v", c.signal, c.ignored, v)
		}
	}
}

// A process whose wait is not shown may wait for the signal.
func TestADiscardedSignalIsObservedOnlyIfItIsKnownWhatTheProcessWaitsFor(t *testing.T) {
	for channel, want := range map[string]Confidence{"do_select": Observed, "": Likely} {
		f := ended{Worker: ends(nil), GraceLeft: &within, Containers: having(db(proc.Process{State: proc.Sleeping, PIDs: []int{8812, 1}}, shim), func(c *view.ContainerProcess) { c.WaitChannel = channel })}
		if got := Ending(f.pod(), now); got.Layer != LayerProcess || got.Confidence != want {
			t.Errorf("%q: %+v", channel, got)
		}
	}
}

func TestPodWithoutPodctlIsTerminatingOnEvidenceOnly(t *testing.T) {
	for name, c := range map[string]struct {
		facts ended
		want  bool
	}{
		"runs":                              {ended{SandboxReady: true, Containers: db(asleep, shim)}, false},
		"hidden processes":                  {ended{SandboxReady: true, Containers: []view.ContainerProcess{{Name: "db", PID: 8812, Hidden: true}}}, false},
		"ignores TERM":                      {ended{SandboxReady: true, Containers: db(proc.Process{Ignored: sigTERM}, shim)}, false},
		"a status that cannot be read":      {ended{SandboxReady: true, Containers: []view.ContainerProcess{{Name: "db", Err: errors.New("no")}}}, false},
		"the kubelet terminates it":         {ended{KubeletTerminates: true, SandboxReady: true}, true},
		"the kubelet has terminated it":     {ended{KubeletTerminates: true}, false},
		"a volume is still mounted":         {ended{KubeletTerminates: true, Mounts: []string{"/m"}}, true},
		"sandbox stopped, containers run":   {ended{Containers: db(asleep, shim)}, true},
		"process gone":                      {ended{SandboxReady: true, Containers: having(db(proc.Process{}, proc.Process{}), func(c *view.ContainerProcess) { c.Gone = true })}, true},
		"the network is not torn down":      {ended{KubeletTerminates: true, Sandbox: "s1", NetworkHeld: true}, true},
		"a bare pod, network not torn down": {ended{Owner: view.OwnedByOther, Sandbox: "s1", NetworkHeld: true}, true},
		"SIGTERM pending":                   {ended{SandboxReady: true, Containers: db(proc.Process{Pending: sigTERM}, shim)}, true},
		"shim stopped":                      {ended{SandboxReady: true, Containers: db(asleep, proc.Process{PID: 7, State: proc.Stopped})}, true},
		"runc kill":                         {ended{SandboxReady: true, Containers: having(db(asleep, shim), func(c *view.ContainerProcess) { c.Kill.PID = 400 })}, true},
		"stop on record, podctl gone":       {ended{Owner: view.OwnedByExited, Requested: now, SandboxReady: true}, true},
		"nothing on record, podctl gone":    {ended{Owner: view.OwnedByExited, SandboxReady: true, Containers: db(asleep, shim)}, false},
		"exited pod of a kubelet, no hints": {ended{Owner: view.OwnedByKubelet}, false},
	} {
		if got := c.facts.pod().IsEnding(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
