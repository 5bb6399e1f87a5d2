package starting

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pod/testutil"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/proc"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

// starts is a pod of podctl that is in a step.
func starts(step pod.StartStep, since int) Facts {
	return Facts{
		By: inventory.OwnedByPodctl,
		Facts: describe.Facts{
			Worker: &control.Worker{Start: pod.Start{Began: ago(60), Step: step, Container: "c", Since: ago(since)}}, Spec: &describe.Spec{RestartPolicy: "Always"},
			Containers: []describe.Container{{Name: "c", Kind: describe.KindRegular, State: stateWaiting, Reason: "ContainerCreating", Image: "app:1"}},
		},
	}
}

// kubelets is a kubelet's pod without a sandbox.
func kubelets(change func(*Facts)) Facts {
	f := starts("", 0)
	f.Worker, f.By, f.StartTime = nil, inventory.OwnedByKubelet, ago(60)
	if change != nil {
		change(&f)
	}
	return f
}

// inSandbox is a kubelet's pod with a sandbox and a container.
func inSandbox(c describe.Container) Facts {
	return kubelets(func(f *Facts) {
		f.Sandbox = &describe.Sandbox{ID: "5a0d", State: "ready", CreatedAt: ago(50)}
		if c.Name == "" {
			c.Name = "c"
		}
		if c.Kind == "" {
			c.Kind = describe.KindRegular
		}
		f.Containers = []describe.Container{c}
	})
}

func with(f Facts, change func(*Facts)) Facts {
	change(&f)
	return f
}

func process(role Role, comm string, state proc.State, seconds int) Process {
	return Process{Process: proc.Process{PID: 812, Comm: comm, State: state}, Role: role, Command: []string{"/usr/bin/" + comm}, Started: ago(seconds), Blocked: state == proc.Uninterruptible}
}

// exited is a container that waits after an exit.
func exited(cause describe.CauseKind, code int32, reason, message string) describe.Container {
	return describe.Container{
		State: stateWaiting, Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=c", LogLines: []string{"starting", "no config"},
		Last: &describe.End{ExitCode: code, Reason: reason, Message: message, StartedAt: ago(12), FinishedAt: ago(10), Cause: describe.Cause{Kind: cause, Text: "why", Confidence: diagnose.Observed}},
	}
}

func failed(layer event.Layer, text string) Facts {
	f := starts("", 0)
	f.Worker.LastError = event.Failure{Op: "sync", Layer: layer, Text: text}
	return f
}

var no, yes = false, true

func TestJudge(t *testing.T) {
	matched := map[string]bool{}
	for _, c := range []struct {
		name     string
		facts    Facts
		step     Step
		layer    diagnose.Layer
		sure     diagnose.Confidence
		evidence string
		next     string
	}{
		{"the runtime is stopped", with(starts(pod.StepSandbox, 40), func(f *Facts) { f.Server = cri.Server{PID: 99, Comm: "containerd", State: proc.Stopped} }),
			StepSandbox, diagnose.LayerRuntime, diagnose.Observed, "containerd (pid 99, T) is stopped", "kill -CONT 99"},
		{"its shim is stopped", with(starts(pod.StepStart, 12), func(f *Facts) { f.Processes = []Process{process(RoleShim, "containerd-shim", proc.Stopped, 60)} }),
			StepStart, diagnose.LayerShim, diagnose.Observed, "containerd-shim (pid 812, T) is stopped", "kill -CONT 812"},
		{"frozen", with(starts(pod.StepStart, 12), func(f *Facts) { f.Frozen = "/sys/fs/cgroup/pod1/cgroup.freeze" }),
			StepStart, diagnose.LayerCgroup, diagnose.Observed, "frozen by the cgroup /sys/fs/cgroup/pod1/cgroup.freeze", "echo 0 > /sys/fs/cgroup/pod1/cgroup.freeze"},
		{"a path hangs", with(starts(pod.StepCreate, 12), func(f *Facts) { f.Paths = []Path{{Volume: "v", Path: "/mnt/nfs", Hangs: true}} }),
			StepVolume, diagnose.LayerVolume, diagnose.Observed, "/mnt/nfs does not answer", "findmnt -T /mnt/nfs"},
		{"runc waits for a file system", with(starts(pod.StepStart, 12), func(f *Facts) {
			p := process(RoleOCI, "runc", proc.Uninterruptible, 12)
			p.WaitChannel = "nfs_wait_bit_killable"
			f.Processes = []Process{p}
		}), StepStart, diagnose.LayerVolume, diagnose.Likely, "runc (pid 812, D nfs_wait_bit_killable) has been running for 12s", "cat /proc/812/stack"},
		{"runc in uninterruptible sleep", with(starts(pod.StepStart, 12), func(f *Facts) { f.Processes = []Process{process(RoleOCI, "runc", proc.Uninterruptible, 12)} }),
			StepStart, diagnose.LayerKernel, diagnose.Observed, "runc (pid 812, D)", "cat /proc/812/stack"},
		{"a CNI plugin that sleeps", with(starts(pod.StepSandbox, 12), func(f *Facts) {
			p := process(RoleCNI, "bridge", proc.Sleeping, 12)
			p.Verb, p.WaitChannel = "ADD", "hrtimer_nanosleep"
			f.Processes = []Process{p}
		}), StepNetwork, diagnose.LayerNetwork, diagnose.Observed, "CNI plugin bridge (pid 812, S hrtimer_nanosleep) add has been running for 12s", "cat /proc/812/stack"},
		{"a CNI plugin that has just begun", with(starts(pod.StepSandbox, 1), func(f *Facts) {
			f.Processes = []Process{process(RoleCNI, "bridge", proc.Sleeping, 1)}
		}), StepSandbox, diagnose.LayerNone, diagnose.Observed, "sandbox has been in progress for 1s", ""},
		{"a mount of a kubelet's volume", kubelets(func(f *Facts) { f.Processes = []Process{process(RoleMount, "mount.nfs", proc.Sleeping, 12)} }),
			StepVolume, diagnose.LayerVolume, diagnose.Observed, "mount.nfs (pid 812, S) has been running for 12s", "cat /proc/812/stack"},
		{"its name is taken", with(starts("", 0), func(f *Facts) {
			f.Worker.WaitReason, f.Worker.Rejected, f.Worker.Advice = "NameHeld", "podctl other manages a pod of that name", "podctl pods"
		}), StepAdmission, diagnose.LayerAdmission, diagnose.Observed, "NameHeld: podctl other manages", "podctl pods"},
		{"a host port is taken", with(starts("", 0), func(f *Facts) {
			f.Worker.WaitReason, f.Worker.Rejected, f.Worker.HostPort = "HostPortInUse", "default/web has port 80/TCP", &event.HostPort{Port: 80}
		}), StepHostPort, diagnose.LayerAdmission, diagnose.Observed, "HostPortInUse: default/web has port 80/TCP", ""},
		{"a device is taken", with(starts("", 0), func(f *Facts) {
			f.Worker.WaitReason, f.Worker.Rejected = "DevicesInUse", "default/web has vendor/gpu=0"
		}), StepDevice, diagnose.LayerDevice, diagnose.Observed, "DevicesInUse: default/web", ""},
		{"a lock that cannot be taken", with(starts("", 0), func(f *Facts) { f.Worker.WaitReason, f.Worker.Rejected = "LockFailed", "disk error" }),
			StepAdmission, diagnose.LayerLock, diagnose.Observed, "LockFailed: disk error", ""},
		{"a hostPath is missing", kubelets(func(f *Facts) { f.Paths = []Path{{Volume: "v", Path: "/srv/a", Problem: "does not exist"}} }),
			StepVolume, diagnose.LayerVolume, diagnose.Observed, "/srv/a does not exist", "ls -ld /srv/a"},
		{"a stalled pull", with(starts(pod.StepPull, 20), func(f *Facts) {
			f.Pulls = []Pull{{Image: "app:1", Since: ago(20), Bytes: 1 << 20, Total: 4 << 20, Measured: 3 * time.Second}}
		}),
			StepPull, diagnose.LayerRegistry, diagnose.Likely, "pull of app:1, 1.0Mi of 4.0Mi, receives nothing, for 20s", "podctl pull app:1"},
		{"a pull of CRI-O that stalls", with(starts(pod.StepPull, 20), func(f *Facts) {
			f.Unnamed = &Pull{Image: "app:1", Since: ago(30), Number: 2, Measured: 3 * time.Second}
		}), StepPull, diagnose.LayerRegistry, diagnose.Likely, "pull of app:1, one of 2 of which the runtime does not name the image, and which receive nothing, for 30s", "podctl pull app:1"},
		{"a pull of CRI-O beside one that receives data", with(starts(pod.StepPull, 20), func(f *Facts) {
			f.Unnamed = &Pull{Image: "app:1", Since: ago(30), Number: 2, Rate: 1, Measured: 3 * time.Second}
		}), StepPull, diagnose.LayerNone, diagnose.Unknown, "and which receive something", ""},
		{"a registry that sends nothing", with(starts(pod.StepPull, 20), func(f *Facts) { f.PullsListed = true }),
			StepPull, diagnose.LayerRegistry, diagnose.Likely, "pull of app:1, of which the registry has sent nothing, for 20s", "podctl pull app:1"},
		{"a kubelet's image of which nothing comes", with(inSandbox(describe.Container{State: stateWaiting, Reason: "ContainerCreating", Image: "app:1"}), func(f *Facts) { f.Absent, f.NoPull = []string{"app:1"}, true }),
			StepPull, diagnose.LayerRegistry, diagnose.Likely, "pull of app:1, of which the registry has sent nothing, for 50s", "podctl pull app:1"},
		{"a kubelet's image beside another pull", with(inSandbox(describe.Container{State: stateWaiting, Reason: "ContainerCreating", Image: "app:1"}), func(f *Facts) { f.Absent, f.PullsListed = []string{"app:1"}, true }),
			StepPull, diagnose.LayerNone, diagnose.Unknown, "not known", ""},
		{"a device that is missing", with(starts("", 0), func(f *Facts) {
			f.Worker.Rejected = "UnexpectedAdmissionError: requested number of devices unavailable for vendor/gpu. Requested: 1, Available: 0"
		}),
			StepDevice, diagnose.LayerDevice, diagnose.Observed, "Rejected: UnexpectedAdmissionError", ""},
		{"a pull that receives data", with(starts(pod.StepPull, 90), func(f *Facts) { f.Pulls = []Pull{{Image: "app:1", Since: ago(90), Bytes: 1 << 20, Rate: 1 << 10}} }),
			StepPull, diagnose.LayerNone, diagnose.Observed, "pull of app:1, 1.0Mi, 1.0Ki/s, for 1m30s", ""},
		{"a hook of podctl's pod", with(starts(pod.StepHook, 40), func(f *Facts) {
			f.Sandbox = &describe.Sandbox{State: "ready"}
			f.Containers[0].State, f.Containers[0].PostStart, f.Containers[0].Ready = stateRunning, "exec sleep 60", &no
		}), StepHook, diagnose.LayerHook, diagnose.Observed, "c: postStart hook exec sleep 60 has been in progress for 40s", "podctl exec default/web/c -- ps"},
		{"a hook of a kubelet's pod", inSandbox(describe.Container{State: stateRunning, StartedAt: ago(9), PostStart: "exec sleep 60", Starting: true, Ready: &no}),
			StepHook, diagnose.LayerHook, diagnose.Observed, "c: postStart hook exec sleep 60 has been in progress for 9s", "podctl exec default/web/c -- ps"},
		{"a hook that failed", with(inSandbox(exited(describe.CauseStop, 137, "Error", "")), func(f *Facts) {
			f.Events = []describe.Event{{Time: ago(11), Reason: event.FailedPostStart, Container: "c", Message: "exited with 4"}}
		}), StepHook, diagnose.LayerHook, diagnose.Observed, "c: FailedPostStartHook: exited with 4", "podctl logs default/web/c"},
		{"out of memory", inSandbox(exited(describe.CauseOOM, 137, "OOMKilled", "")),
			StepRestart, diagnose.LayerKernel, diagnose.Observed, "c: exited 137 after 2s: why, 10s ago", "podctl top containers default/web"},
		{"a process of it killed for lack of memory", with(inSandbox(exited(describe.CauseExit, 1, "Error", "")), func(f *Facts) { f.Containers[0].Last.Cause.LostProcess = true }),
			StepRestart, diagnose.LayerKernel, diagnose.Likely, "c: exited 1 after 2s: why, 10s ago", "podctl top containers default/web"},
		{"killed for its probe", with(inSandbox(exited(describe.CauseCompleted, 0, "Completed", "")), func(f *Facts) {
			f.Events = []describe.Event{{Time: ago(11), Reason: event.Killing, Container: "c", Message: "Container c failed liveness probe, will be restarted"}}
		}), StepRestart, diagnose.LayerProbe, diagnose.Observed, "failed liveness probe", "podctl logs default/web/c"},
		{"a Secret is missing", inSandbox(describe.Container{State: stateWaiting, Reason: "CreateContainerConfigError", Message: `secret "a" not found`}),
			StepObject, diagnose.LayerConfig, diagnose.Observed, `c: CreateContainerConfigError: secret "a" not found`, "podctl describe default/web"},
		{"a volume of podctl's pod", failed(event.LayerVolume, "mount volumes: set up volume \"v\": input/output error"),
			StepVolume, diagnose.LayerVolume, diagnose.Observed, "last sync: mount volumes", "podctl describe default/web"},
		{"a failed sandbox in words that are not known", failed(event.LayerSandbox, "run sandbox: surprise"),
			StepSandbox, diagnose.LayerNone, diagnose.Unknown, "last sync: run sandbox: surprise", ""},
		{"a reserved name", with(failed(event.LayerSandbox, `failed to reserve sandbox name "web_default_u_0": name "web_default_u_0" is reserved for "0123456789abcdef0123"`), func(f *Facts) {
			f.Holder = map[string]string{"0123456789abcdef0123": "default/other"}
		}), StepSandbox, diagnose.LayerRuntime, diagnose.Observed, "name web_default_u_0 is that of 0123456789abc, of default/other", "crictl inspectp 0123456789abc"},
		{"a reserved name, for which a CNI plugin has just begun", with(failed(event.LayerSandbox, `desc = \"name \\\"web_default_u_0\\\" is reserved for \\\"0123456789abcdef0123\\\"`), func(f *Facts) {
			f.Processes = []Process{process(RoleCNI, "bridge", proc.Sleeping, 1)}
		}), StepSandbox, diagnose.LayerNone, diagnose.Unknown, "which the runtime does not list", "crictl inspectp 0123456789abc"},
		{"the kubelet's log", kubelets(func(f *Facts) {
			f.LogError = &LogError{Time: ago(4), Text: `plugin type="bridge" failed (add): no IP addresses available in range set`}
		}), StepNetwork, diagnose.LayerNetwork, diagnose.Observed, "last error of the kubelet: plugin type", "podctl doctor"},
		{"an old error in the kubelet's log", kubelets(func(f *Facts) { f.LogError = &LogError{Time: ago(600), Text: "plugin type= failed"} }),
			StepSandbox, diagnose.LayerNone, diagnose.Unknown, "not known: nothing shows in", ""},
		{"its command is missing", inSandbox(exited(describe.CauseStart, 128, "StartError", `exec: "nope": executable file not found in $PATH`)),
			StepStart, diagnose.LayerApplication, diagnose.Observed, "c: StartError: exec: \"nope\"", "podctl describe default/web"},
		{"its program exits", inSandbox(exited(describe.CauseExit, 3, "Error", "")),
			StepRestart, diagnose.LayerApplication, diagnose.Observed, "c: its last line: no config", "podctl logs default/web/c"},
		{"killed by somebody", inSandbox(exited(describe.CauseSignal, 137, "Error", "")),
			StepRestart, diagnose.LayerNone, diagnose.Unknown, "c: exited 137 after 2s: why", "podctl logs default/web/c"},
		{"an init container fails", inSandbox(with(inSandbox(exited(describe.CauseExit, 1, "Error", "")), func(f *Facts) { f.Containers[0].Kind = describe.KindInit }).Containers[0]),
			StepInit, diagnose.LayerApplication, diagnose.Observed, "c: exited 1", "podctl logs default/web/c"},
		{"an init container runs", inSandbox(describe.Container{Kind: describe.KindInit, State: stateRunning, StartedAt: ago(40)}),
			StepInit, diagnose.LayerApplication, diagnose.Observed, "c: init container, has been running for 40s", "podctl logs -f default/web/c"},
		{"a readiness probe fails", inSandbox(describe.Container{State: stateRunning, StartedAt: ago(40), Ready: &no, Probes: []describe.Probe{{Type: "readiness", Handler: "http-get :80/", Result: "failure", Failures: 3, Output: "refused"}}}),
			StepReadiness, diagnose.LayerProbe, diagnose.Observed, "c: readiness probe http-get :80/: failure, 3 times in a row, refused", "podctl logs -f default/web/c"},
		{"a kubelet's startup probe", inSandbox(describe.Container{State: stateRunning, StartedAt: ago(40), Started: &no, Ready: &no, Probes: []describe.Probe{{Type: "startup", Handler: "exec a"}}}),
			StepStartupProbe, diagnose.LayerProbe, diagnose.Likely, "c: startup probe exec a: has not succeeded", "podctl logs -f default/web/c"},
		{"a readiness gate", with(inSandbox(describe.Container{State: stateRunning, StartedAt: ago(40), Ready: &yes}), func(f *Facts) {
			f.By, f.Worker = inventory.OwnedByPodctl, &control.Worker{NotReady: "condition a is not True"}
		}), StepReadiness, diagnose.LayerNone, diagnose.Observed, "readiness gate: condition a is not True", ""},
		{"the network is not ready", kubelets(func(f *Facts) { f.NotReady = "NetworkPluginNotReady: cni plugin not initialized" }),
			StepNetwork, diagnose.LayerNetwork, diagnose.Observed, "NetworkReady: NetworkPluginNotReady: cni plugin not initialized", "podctl doctor"},
		{"a call in flight", starts(pod.StepSandbox, 40), StepSandbox, diagnose.LayerRuntime, diagnose.Likely, "RunPodSandbox has been in progress for 40s", "podctl pleg check"},
		{"a call in flight whose processes are not visible", with(starts(pod.StepSandbox, 40), func(f *Facts) { f.Hidden = errors.New("no permission") }),
			StepSandbox, diagnose.LayerNone, diagnose.Unknown, "its processes are not visible: no permission", ""},
		{"the runtime does not answer", with(starts("", 0), func(f *Facts) {
			f.Worker.Start, f.StartTime, f.Unread = pod.Start{}, ago(60), []describe.Unread{{Layer: "runtime", Why: "it does not answer"}}
		}), StepVolume, diagnose.LayerRuntime, diagnose.Observed, "runtime: it does not answer", "podctl doctor"},
		{"an empty sandbox of nobody", with(inSandbox(describe.Container{}), func(f *Facts) { f.By, f.Containers = inventory.OwnedByOther, nil }),
			StepCreate, diagnose.LayerWorker, diagnose.Observed, "its sandbox is ready, and it has no container", "podctl rm default/web"},
		{"an empty sandbox of a podctl process that has exited", with(inSandbox(describe.Container{}), func(f *Facts) { f.By, f.Containers = inventory.OwnedByExited, nil }),
			StepCreate, diagnose.LayerWorker, diagnose.Observed, "its owner, a podctl process, has exited", "podctl orphans default/web"},
		{"a container that its suspended podctl process has yet to create", with(inSandbox(describe.Container{State: stateWaiting}), func(f *Facts) {
			f.By, f.OwnerPID, f.Facts.Owner.Instance = inventory.OwnedBySuspended, 812, "agent"
		}), StepCreate, diagnose.LayerWorker, diagnose.Observed, "c: has no container yet; its owner, podctl agent (pid 812), is suspended (state T)", "kill -CONT 812"},
		{"a container that its podctl process has yet to create, which does not answer", with(inSandbox(describe.Container{State: stateWaiting}), func(f *Facts) {
			f.By, f.Facts.Owner.Instance = inventory.OwnedBySilent, "agent"
		}), StepCreate, diagnose.LayerWorker, diagnose.Likely, "c: has no container yet; its owner, podctl agent, does not answer", "podctl doctor"},
		{"a created container of nobody", with(inSandbox(describe.Container{State: stateCreated}), func(f *Facts) { f.By = inventory.OwnedByOther }),
			StepStart, diagnose.LayerWorker, diagnose.Observed, "c: was created, and not started", "podctl rm default/web"},
		{"a kubelet's container of which nothing is known", inSandbox(describe.Container{State: stateWaiting, Reason: "ContainerCreating"}),
			StepCreate, diagnose.LayerNone, diagnose.Unknown, "not known: nothing shows in processes below the runtime", ""},
	} {
		c.facts.Name = "default/web"
		got := Judge(&c.facts, now)
		var texts []string
		for _, e := range got.Evidence {
			texts = append(texts, e.Words(now))
		}
		text := strings.Join(texts, "\n")
		if got.Step != c.step || got.Layer != c.layer || got.Sure != c.sure || !strings.Contains(text, c.evidence) || !strings.Contains(strings.Join(got.Next, " · "), c.next) {
			t.Errorf("%s:\n got %s %s %s %q\n  next %q\nwant %s %s %s %q\n  next %q", c.name, got.Step, got.Layer, got.Sure, text, got.Next, c.step, c.layer, c.sure, c.evidence, c.next)
		}
		matched[c.facts.ruleOf(now)] = true
	}
	for _, r := range rules {
		if !matched[r.shows] {
			t.Errorf("no case for: %s", r.shows)
		}
	}
}

// ruleOf returns what the rule shows that decides.
func (f *Facts) ruleOf(at time.Time) string {
	v := &view{Facts: f, position: f.position(), now: at}
	for _, r := range rules {
		if len(r.match(v).evidence) > 0 {
			return r.shows
		}
	}
	return ""
}

func TestStarting(t *testing.T) {
	running := describe.Container{State: stateRunning, Ready: &yes}
	for name, c := range map[string]struct {
		facts Facts
		want  bool
	}{
		"waits":               {kubelets(nil), true},
		"runs":                {inSandbox(running), false},
		"is not ready":        {inSandbox(describe.Container{State: stateRunning, Ready: &no}), true},
		"has completed":       {with(inSandbox(describe.Container{State: stateTerminated, End: &describe.End{}}), func(f *Facts) { f.Spec.RestartPolicy = "OnFailure" }), false},
		"has failed for good": {with(inSandbox(describe.Container{State: stateTerminated, End: &describe.End{ExitCode: 1}}), func(f *Facts) { f.Spec.RestartPolicy = "Never" }), false},
		"has failed":          {inSandbox(describe.Container{State: stateTerminated, End: &describe.End{ExitCode: 1}}), true},
		"succeeded":           {kubelets(func(f *Facts) { f.Phase = "Succeeded" }), false},
		"terminates":          {kubelets(func(f *Facts) { f.Stopping = &describe.Stopping{} }), false},
		"was stopped":         {with(starts("", 0), func(f *Facts) { f.Worker.Stopped = true }), false},
		"was rejected":        {with(starts("", 0), func(f *Facts) { f.Worker.Rejected, f.Phase = "no", "Failed" }), true},
		"nobody's, runs":      {with(inSandbox(describe.Container{State: stateRunning}), func(f *Facts) { f.By = inventory.OwnedByOther }), false},
		"nobody's, exited":    {with(inSandbox(describe.Container{State: stateTerminated}), func(f *Facts) { f.By = inventory.OwnedByOther }), false},
		"nobody's, created":   {with(inSandbox(describe.Container{State: stateCreated}), func(f *Facts) { f.By = inventory.OwnedByOther }), true},
		// As describe makes them of a spec in the sandbox: a container that was never created waits.
		"its podctl process exited":       {with(inSandbox(describe.Container{State: stateWaiting}), func(f *Facts) { f.By = inventory.OwnedByExited }), true},
		"its podctl process is suspended": {with(inSandbox(describe.Container{State: stateWaiting}), func(f *Facts) { f.By = inventory.OwnedBySuspended }), true},
		"suspended after its first container": {with(inSandbox(describe.Container{State: stateRunning, ID: "c1"}), func(f *Facts) {
			f.By, f.Containers = inventory.OwnedBySuspended, append(f.Containers, describe.Container{Name: "d", Kind: describe.KindRegular, State: stateWaiting})
		}), true},
		"suspended while it runs": {with(inSandbox(describe.Container{State: stateRunning, ID: "c1"}), func(f *Facts) { f.By = inventory.OwnedBySuspended }), false},
		"nobody's, empty sandbox": {with(inSandbox(running), func(f *Facts) { f.By, f.Containers = inventory.OwnedByExited, nil }), true},
	} {
		if got := c.facts.Starting(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

const (
	page      = "../../../docs/stuck-starting.md"
	pageBegin = "<!-- %s: written by go test ./internal/pods/starting -update -->\n"
	pageEnd   = "<!-- end of table -->\n"
)

// TestTablesInTheDocs keeps the tables of docs/stuck-starting.md true.
func TestTablesInTheDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for name, table := range map[string]string{"layers": layersTable()} {
		begin := fmt.Sprintf(pageBegin, name)
		head, rest, hasBegin := strings.Cut(whole, begin)
		_, tail, hasEnd := strings.Cut(rest, pageEnd)
		if !hasBegin || !hasEnd {
			t.Fatalf("%s has no table of %s", page, name)
		}
		whole = head + begin + table + pageEnd + tail
	}
	testutil.Golden(t, *update, page, whole)
}

func layersTable() string {
	var b strings.Builder
	b.WriteString("| what shows it | LAYER | how sure | first thing to try |\n|---|---|---|---|\n")
	for _, r := range rules {
		layer, sure := string(r.layer), string(r.sure)
		if layer == "" {
			layer = "that one"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.shows, layer, sure, r.first)
	}
	return b.String()
}
