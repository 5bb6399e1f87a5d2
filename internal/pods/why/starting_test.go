package why

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

// starts is a pod of podctl that is in a step.
func starts(step pod.StartStep, since int) view.Pod {
	return view.Pod{
		Metadata: view.Metadata{Namespace: "default", Name: "web"}, Manager: &control.Process{},
		Worker:     control.Worker{Start: pod.Start{Began: ago(60), Step: step, Container: "c", Since: ago(since)}},
		Spec:       &view.Spec{RestartPolicy: "Always"},
		Containers: []view.Container{{Name: "c", Kind: view.KindRegular, State: view.Waiting, Reason: "ContainerCreating", Image: "app:1"}},
	}
}

// kubelets is a kubelet's pod without a sandbox.
func kubelets(change func(*view.Pod)) view.Pod {
	f := starts("", 0)
	own(&f, view.OwnedByKubelet)
	f.StartTime = ago(60)
	if change != nil {
		change(&f)
	}
	return f
}

// placed is a kubelet's pod with a sandbox and a container.
func placed(c view.Container) view.Pod {
	return kubelets(func(f *view.Pod) {
		f.Sandbox = &view.Sandbox{ID: "5a0d", State: "ready", CreatedAt: ago(50)}
		if c.Name == "" {
			c.Name = "c"
		}
		if c.Kind == "" {
			c.Kind = view.KindRegular
		}
		f.Containers = []view.Container{c}
	})
}

func with(f view.Pod, change func(*view.Pod)) view.Pod {
	change(&f)
	return f
}

func process(role view.Role, comm string, state proc.State, seconds int) view.Process {
	return view.Process{Process: proc.Process{PID: 812, Comm: comm, State: state}, Role: role, Command: []string{"/usr/bin/" + comm}, Started: ago(seconds), Blocked: state == proc.Uninterruptible}
}

// logged is what the kubelet logged about the pod.
func logged(seconds int, text string) []string {
	return []string{fmt.Sprintf("E%s.000000   21361 pod_workers.go:1338] \"Error syncing pod, skipping\" err=%q", ago(seconds).Local().Format("0102 15:04:05"), text)}
}

// exited is a container that waits after an exit.
func exited(cause view.CauseKind, code int32, reason, message string) view.Container {
	return view.Container{
		State: view.Waiting, Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=c", LogLines: []string{"starting", "no config"},
		Last: &view.End{ExitCode: code, Reason: reason, Message: message, StartedAt: ago(12), FinishedAt: ago(10), Cause: view.Cause{Kind: cause, Text: "why", Confidence: string(Observed)}},
	}
}

func failed(layer event.Layer, text string) view.Pod {
	f := starts("", 0)
	f.Worker.LastError = event.Failure{Op: "sync", Layer: layer, Text: text}
	return f
}

var no, yes = false, true

func TestJudge(t *testing.T) {
	matched := map[string]bool{}
	for _, c := range []struct {
		name     string
		facts    view.Pod
		step     Step
		layer    Layer
		sure     Confidence
		evidence string
		next     string
	}{
		{"the runtime is stopped", with(starts(pod.StepSandbox, 40), func(f *view.Pod) { f.Server = cri.Server{PID: 99, Comm: "containerd", State: proc.Stopped} }),
			StepSandbox, LayerRuntime, Observed, "containerd (pid 99, T) is stopped", "kill -CONT 99"},
		{"its shim is stopped", with(starts(pod.StepStart, 12), func(f *view.Pod) {
			f.Processes = []view.Process{process(view.RoleShim, "containerd-shim", proc.Stopped, 60)}
		}),
			StepStart, LayerShim, Observed, "containerd-shim (pid 812, T) is stopped", "kill -CONT 812"},
		{"a process that has ended", with(placed(view.Container{State: view.Running, PID: 812, Gone: true, StartedAt: ago(40)}), func(f *view.Pod) { own(f, view.OwnedByOther) }),
			StepReadiness, LayerRuntime, Observed, "c: the runtime reports it as running, and its process (pid 812) has ended", "podctl restart default/web/c"},
		{"frozen", with(starts(pod.StepStart, 12), func(f *view.Pod) { f.Frozen = "/sys/fs/cgroup/pod1/cgroup.freeze" }),
			StepStart, LayerCgroup, Observed, "frozen by the cgroup /sys/fs/cgroup/pod1/cgroup.freeze", "echo 0 > /sys/fs/cgroup/pod1/cgroup.freeze"},
		{"a path hangs", with(starts(pod.StepCreate, 12), func(f *view.Pod) { f.Paths = []view.Path{{Volume: "v", Path: "/mnt/nfs", Hangs: true}} }),
			StepVolume, LayerVolume, Observed, "/mnt/nfs does not answer", "findmnt -T /mnt/nfs"},
		{"runc waits for a file system", with(starts(pod.StepStart, 12), func(f *view.Pod) {
			p := process(view.RoleOCI, "runc", proc.Uninterruptible, 12)
			p.WaitChannel = "nfs_wait_bit_killable"
			f.Processes = []view.Process{p}
		}), StepStart, LayerVolume, Likely, "runc (pid 812, D nfs_wait_bit_killable) has been running for 12s", "cat /proc/812/stack"},
		{"runc in uninterruptible sleep", with(starts(pod.StepStart, 12), func(f *view.Pod) {
			f.Processes = []view.Process{process(view.RoleOCI, "runc", proc.Uninterruptible, 12)}
		}),
			StepStart, LayerKernel, Observed, "runc (pid 812, D)", "cat /proc/812/stack"},
		{"a CNI plugin that sleeps", with(starts(pod.StepSandbox, 12), func(f *view.Pod) {
			p := process(view.RoleCNI, "bridge", proc.Sleeping, 12)
			p.Verb, p.WaitChannel = "ADD", "hrtimer_nanosleep"
			f.Processes = []view.Process{p}
		}), StepNetwork, LayerNetwork, Observed, "CNI plugin bridge (pid 812, S hrtimer_nanosleep) add has been running for 12s", "cat /proc/812/stack"},
		{"a CNI plugin that has just begun", with(starts(pod.StepSandbox, 1), func(f *view.Pod) {
			f.Processes = []view.Process{process(view.RoleCNI, "bridge", proc.Sleeping, 1)}
		}), StepSandbox, LayerNone, Observed, "sandbox has been in progress for 1s", ""},
		{"a mount of a kubelet's volume", kubelets(func(f *view.Pod) {
			f.Processes = []view.Process{process(view.RoleMount, "mount.nfs", proc.Sleeping, 12)}
		}),
			StepVolume, LayerVolume, Observed, "mount.nfs (pid 812, S) has been running for 12s", "cat /proc/812/stack"},
		{"its name is taken", with(starts("", 0), func(f *view.Pod) {
			f.Worker.WaitReason, f.Worker.Rejected, f.Worker.Advice = "NameHeld", "podctl other manages a pod of that name", "podctl pods"
		}), StepAdmission, LayerAdmission, Observed, "NameHeld: podctl other manages", "podctl pods"},
		{"a host port is taken", with(starts("", 0), func(f *view.Pod) {
			f.Worker.WaitReason, f.Worker.Rejected, f.Worker.HostPort = "HostPortInUse", "default/web has port 80/TCP", &event.HostPort{Port: 80}
		}), StepHostPort, LayerAdmission, Observed, "HostPortInUse: default/web has port 80/TCP", ""},
		{"a device is taken", with(starts("", 0), func(f *view.Pod) {
			f.Worker.WaitReason, f.Worker.Rejected = "DevicesInUse", "default/web has vendor/gpu=0"
		}), StepDevice, LayerDevice, Observed, "DevicesInUse: default/web", ""},
		{"a lock that cannot be taken", with(starts("", 0), func(f *view.Pod) { f.Worker.WaitReason, f.Worker.Rejected = "LockFailed", "disk error" }),
			StepAdmission, LayerLock, Observed, "LockFailed: disk error", ""},
		{"a hostPath is missing", kubelets(func(f *view.Pod) { f.Paths = []view.Path{{Volume: "v", Path: "/srv/a", Problem: "does not exist"}} }),
			StepVolume, LayerVolume, Observed, "/srv/a does not exist", "ls -ld /srv/a"},
		{"a long pull", starts(pod.StepPull, 20), StepPull, LayerRegistry, Likely, "pull of app:1, for 20s", "podctl pull app:1"},
		{"a short pull", starts(pod.StepPull, 9), StepPull, LayerNone, Observed, "c: pull has been in progress for 9s", ""},
		{"a kubelet's image that is not there", with(placed(view.Container{State: view.Waiting, Reason: "ContainerCreating", Image: "app:1"}), func(f *view.Pod) { f.HasImage = map[string]bool{"app:1": false} }),
			StepPull, LayerRegistry, Likely, "pull of app:1, for 50s", "podctl pull app:1"},
		{"a device that is missing", with(starts("", 0), func(f *view.Pod) {
			f.Worker.Rejected = "UnexpectedAdmissionError: requested number of devices unavailable for vendor/gpu. Requested: 1, Available: 0"
		}),
			StepDevice, LayerDevice, Observed, "Rejected: UnexpectedAdmissionError", ""},
		{"a hook of podctl's pod", with(starts(pod.StepHook, 40), func(f *view.Pod) {
			f.Sandbox = &view.Sandbox{State: "ready"}
			f.Containers[0].State, f.Containers[0].PostStart, f.Containers[0].Ready = view.Running, "exec sleep 60", &no
		}), StepHook, LayerHook, Observed, "c: postStart hook exec sleep 60 has been in progress for 40s", "podctl exec default/web/c -- ps"},
		{"a hook of a kubelet's pod", placed(view.Container{State: view.Running, StartedAt: ago(9), PostStart: "exec sleep 60", Starting: true, Ready: &no}),
			StepHook, LayerHook, Observed, "c: postStart hook exec sleep 60 has been in progress for 9s", "podctl exec default/web/c -- ps"},
		{"a hook that failed", with(placed(exited(view.CauseStop, 137, "Error", "")), func(f *view.Pod) {
			f.Events = []view.Event{{Time: ago(11), Reason: event.FailedPostStartHook, Container: "c", Message: "exited with 4"}}
		}), StepHook, LayerHook, Observed, "c: FailedPostStartHook: exited with 4", "podctl logs default/web/c"},
		{"out of memory", placed(exited(view.CauseOOM, 137, "OOMKilled", "")),
			StepRestart, LayerKernel, Observed, "c: exited 137 after 2s: why, 10s ago", "podctl top containers default/web"},
		{"a process of it killed for lack of memory", with(placed(exited(view.CauseExit, 1, "Error", "")), func(f *view.Pod) { f.Containers[0].Last.Cause.LostProcess = true }),
			StepRestart, LayerKernel, Likely, "c: exited 1 after 2s: why, 10s ago", "podctl top containers default/web"},
		{"killed for its probe", with(placed(exited(view.CauseCompleted, 0, "Completed", "")), func(f *view.Pod) {
			f.Events = []view.Event{{Time: ago(11), Reason: event.Killing, Container: "c", Message: "Container c failed liveness probe, will be restarted"}}
		}), StepRestart, LayerProbe, Observed, "failed liveness probe", "podctl logs default/web/c"},
		{"a Secret is missing", placed(view.Container{State: view.Waiting, Reason: "CreateContainerConfigError", Message: `secret "a" not found`}),
			StepObject, LayerConfig, Observed, `c: CreateContainerConfigError: secret "a" not found`, "podctl describe default/web"},
		{"a volume of podctl's pod", failed(event.LayerVolume, "mount volumes: set up volume \"v\": input/output error"),
			StepVolume, LayerVolume, Observed, "last sync: mount volumes", "podctl describe default/web"},
		{"an image without a registry", placed(view.Container{State: view.Waiting, Reason: "ErrImagePull", Image: "nginx:1", Message: `short-name "nginx:1" did not resolve to an alias`}),
			StepPull, LayerImage, Observed, "c: ErrImagePull: short-name", "write the image as REGISTRY/NAME:TAG"},
		{"a failed sandbox in words that are not known", failed(event.LayerSandbox, "run sandbox: surprise"),
			StepSandbox, LayerNone, Unknown, "last sync: run sandbox: surprise", ""},
		{"an error in the runtime's frame", failed(event.LayerSandbox, "rpc error: code = Unknown desc = surprise of "+strings.Repeat("0123", 16)),
			StepSandbox, LayerNone, Unknown, "last sync: surprise of 0123012301230", ""},
		{"a reserved name", with(failed(event.LayerSandbox, `failed to reserve sandbox name "web_default_u_0": name "web_default_u_0" is reserved for "0123456789abcdef0123"`), func(f *view.Pod) {
			f.Holder = map[string]string{"0123456789abcdef0123": "default/other"}
		}), StepSandbox, LayerRuntime, Observed, "name web_default_u_0 is that of 0123456789abc, of default/other", "crictl inspectp 0123456789abc"},
		{"a reserved name, for which a CNI plugin has just begun", with(failed(event.LayerSandbox, `desc = \"name \\\"web_default_u_0\\\" is reserved for \\\"0123456789abcdef0123\\\"`), func(f *view.Pod) {
			f.Processes = []view.Process{process(view.RoleCNI, "bridge", proc.Sleeping, 1)}
		}), StepSandbox, LayerNone, Unknown, "which the runtime does not list", "crictl inspectp 0123456789abc"},
		{"the kubelet's log", kubelets(func(f *view.Pod) {
			f.KubeletLog = logged(4, `plugin type="bridge" failed (add): no IP addresses available in range set`)
		}), StepNetwork, LayerNetwork, Observed, "last error of the kubelet: plugin type", "podctl doctor"},
		{"the kubelet waits to restart what ended", with(placed(exited(view.CauseExit, 3, "Error", "")), func(f *view.Pod) {
			f.KubeletLog = logged(4, `failed to "StartContainer" for "c" with CrashLoopBackOff: "back-off 10s restarting failed container=c pod=web_default(u)"`)
		}), StepRestart, LayerApplication, Observed, "c: exited 3", "podctl logs default/web/c"},
		{"an old error in the kubelet's log", kubelets(func(f *view.Pod) { f.KubeletLog = logged(600, "plugin type= failed") }),
			StepSandbox, LayerNone, Unknown, "not known: nothing shows in", ""},
		{"its command is missing", placed(exited(view.CauseStart, 128, "StartError", `exec: "nope": executable file not found in $PATH`)),
			StepStart, LayerApplication, Observed, "c: StartError: exec: \"nope\"", "podctl describe default/web"},
		{"its command is missing, in words", placed(exited(view.CauseStart, 128, "StartError", `exec: "nope": executable file not found in $PATH`)),
			StepStart, LayerApplication, Observed, "means: the program is not in the image's $PATH", "podctl describe default/web"},
		{"it never ran", with(placed(exited(view.CauseStart, 1, "Error", "")), func(p *view.Pod) { p.Containers[0].LogLines = []string{"exec /s/run: no such file or directory"} }),
			StepStart, LayerApplication, Observed, "its interpreter (a CR at the end of its #! line)", "podctl describe default/web"},
		{"the image of its sandbox cannot be pulled", failed(event.LayerSandbox, `failed to get sandbox image "registry.example/pause:3.10": failed to do request: Head "https://registry.example/v2/pause/manifests/3.10": dial tcp 192.0.2.1:443: i/o timeout`),
			StepPull, LayerRegistry, Observed, "means: the image of the sandbox (pause) cannot be pulled", "podctl pull registry.example/pause:3.10 · or load it from a file: docs/images.md#without-a-registry"},
		{"the kernel has no key left", failed(event.LayerSandbox, `unable to join session keyring: unable to create session key: disk quota exceeded`),
			StepSandbox, LayerKernel, Observed, "means: the kernel has no room", "sysctl "},
		{"its program exits", placed(exited(view.CauseExit, 3, "Error", "")),
			StepRestart, LayerApplication, Observed, "c: its last line: no config", "podctl logs default/web/c"},
		{"its program looks up a name", with(placed(exited(view.CauseExit, 1, "Error", "")), func(p *view.Pod) { p.Containers[0].LogLines = []string{"wget: bad address 'db'"} }),
			StepRestart, LayerApplication, Observed, "its last line: wget: bad address 'db'\nmeans: the name db does not resolve", "podctl services · podctl logs default/web/c"},
		{"killed by somebody", placed(exited(view.CauseSignal, 137, "Error", "")),
			StepRestart, LayerNone, Unknown, "c: exited 137 after 2s: why", "podctl logs default/web/c"},
		{"an init container fails", placed(with(placed(exited(view.CauseExit, 1, "Error", "")), func(f *view.Pod) { f.Containers[0].Kind = view.KindInit }).Containers[0]),
			StepInit, LayerApplication, Observed, "c: exited 1", "podctl logs default/web/c"},
		{"an init container runs", placed(view.Container{Kind: view.KindInit, State: view.Running, StartedAt: ago(40)}),
			StepInit, LayerApplication, Observed, "c: init container, has been running for 40s", "podctl logs -f default/web/c"},
		{"a readiness probe fails", placed(view.Container{State: view.Running, StartedAt: ago(40), Ready: &no, Probes: []view.Probe{{Type: "readiness", Handler: "http-get :80/", Result: "failure", Failures: 3, Output: "refused"}}}),
			StepReadiness, LayerProbe, Observed, "c: readiness probe http-get :80/: failure, 3 times in a row, refused", "podctl logs -f default/web/c"},
		{"a container that was denied something", placed(view.Container{State: view.Running, StartedAt: ago(40), Ready: &no, Denied: []string{"open (r) /x, by AppArmor profile p"}, Probes: []view.Probe{{Type: "readiness", Handler: "exec a", Result: "failure"}}}),
			StepReadiness, LayerProbe, Observed, "c: denied: open (r) /x, by AppArmor profile p", "podctl logs -f default/web/c"},
		{"a kubelet's startup probe", placed(view.Container{State: view.Running, StartedAt: ago(40), Started: &no, Ready: &no, Probes: []view.Probe{{Type: "startup", Handler: "exec a"}}}),
			StepStartupProbe, LayerProbe, Likely, "c: startup probe exec a: has not succeeded", "podctl logs -f default/web/c"},
		{"a host port that a process of the host has", with(placed(view.Container{State: view.Terminated, End: &view.End{ExitCode: 1, Cause: view.Cause{Kind: view.CauseExit}}}), func(f *view.Pod) {
			f.TakenPorts = []view.TakenPort{{Container: "c", Port: 80, Protocol: "TCP", PID: 50, Process: "nginx"}}
		}), StepHostPort, LayerAdmission, Likely, "c: host port 80/TCP: nginx (pid 50), which is none of the pod's, listens on it", "ss -ltnup"},
		{"a readiness gate", with(placed(view.Container{State: view.Running, StartedAt: ago(40), Ready: &yes}), func(f *view.Pod) {
			own(f, view.OwnedByPodctl)
			f.Worker = control.Worker{NotReady: "condition a is not True"}
		}), StepReadiness, LayerNone, Observed, "readiness gate: condition a is not True", ""},
		{"the network is not ready", kubelets(func(f *view.Pod) { f.NetworkNotReady = "NetworkPluginNotReady: cni plugin not initialized" }),
			StepNetwork, LayerNetwork, Observed, "NetworkReady: NetworkPluginNotReady: cni plugin not initialized", "podctl doctor"},
		{"a call in flight", starts(pod.StepSandbox, 40), StepSandbox, LayerRuntime, Likely, "RunPodSandbox has been in progress for 40s", "podctl pleg check"},
		{"a call in flight whose processes are not visible", with(starts(pod.StepSandbox, 40), func(f *view.Pod) { f.Hidden = errors.New("no permission") }),
			StepSandbox, LayerNone, Unknown, "its processes are not visible: no permission", ""},
		{"the runtime does not answer", with(starts("", 0), func(f *view.Pod) {
			f.Worker.Start, f.StartTime, f.Unread = pod.Start{}, ago(60), []view.Unread{{Layer: "runtime", Why: "it does not answer"}}
		}), "", LayerRuntime, Observed, "runtime: it does not answer", "podctl doctor"},
		{"an empty unmanaged sandbox", with(placed(view.Container{}), func(f *view.Pod) { own(f, view.OwnedByOther); f.Containers = nil }),
			StepCreate, LayerWorker, Observed, "its sandbox is ready, and it has no container", "podctl rm default/web"},
		{"an empty sandbox of a podctl process that has exited", with(placed(view.Container{}), func(f *view.Pod) { own(f, view.OwnedByExited); f.Containers = nil }),
			StepCreate, LayerWorker, Observed, "its owner, a podctl process, has exited", "podctl orphans default/web"},
		{"a container that its suspended podctl process has yet to create", with(placed(view.Container{State: view.Waiting}), func(f *view.Pod) {
			own(f, view.OwnedBySuspended)
			f.Verdict.Process.PID, f.Owner.Instance = 812, "agent"
		}), StepCreate, LayerWorker, Observed, "c: has no container yet; its owner, podctl agent (pid 812), is suspended (state T)", "kill -CONT 812"},
		{"a container that its podctl process has yet to create, which does not answer", with(placed(view.Container{State: view.Waiting}), func(f *view.Pod) {
			own(f, view.OwnedBySilent)
			f.Owner.Instance = "agent"
		}), StepCreate, LayerWorker, Likely, "c: has no container yet; its owner, podctl agent, does not answer", "podctl doctor"},
		{"a created unmanaged container", with(placed(view.Container{State: view.Created}), func(f *view.Pod) { own(f, view.OwnedByOther) }),
			StepStart, LayerWorker, Observed, "c: was created, and not started", "podctl rm default/web"},
		{"a kubelet's container of which nothing is known", placed(view.Container{State: view.Waiting, Reason: "ContainerCreating"}),
			StepCreate, LayerNone, Unknown, "not known: nothing shows in processes below the runtime", ""},
	} {
		got := Starting(&c.facts, now)
		var texts []string
		for _, e := range got.Evidence {
			texts = append(texts, e.Words(now))
		}
		text := strings.Join(texts, "\n")
		if got.Step != c.step || got.Layer != c.layer || got.Confidence != c.sure || !strings.Contains(text, c.evidence) || !strings.Contains(strings.Join(got.Next, " · "), c.next) {
			t.Errorf("%s:\n got %s %s %s %q\n  next %q\nwant %s %s %s %q\n  next %q", c.name, got.Step, got.Layer, got.Confidence, text, got.Next, c.step, c.layer, c.sure, c.evidence, c.next)
		}
		matched[startingRuleOf(&c.facts, now)] = true
	}
	for _, r := range startingRules {
		if !matched[r.shows] {
			t.Errorf("no case for: %s", r.shows)
		}
	}
}

// The step of a pod is the last known one while the runtime or the network is away, or none.
func TestStartingKeepsTheLastKnownStep(t *testing.T) {
	silent := func(c view.Container) view.Pod {
		c.Name = "c"
		f := starts("", 0)
		f.Worker.LastError = event.Failure{Op: "sync", Layer: event.LayerNetwork, Text: "network is not ready"}
		f.Unread, f.Containers = []view.Unread{{Layer: view.LayerRuntime, Why: "it does not answer"}}, []view.Container{c}
		return f
	}
	unready := view.Container{Kind: view.KindRegular, State: view.Running, Ready: &no, StartedAt: ago(50)}
	for name, c := range map[string]struct {
		pod   view.Pod
		step  Step
		since time.Time
	}{
		"not ready":    {silent(unready), StepReadiness, ago(50)},
		"pull fails":   {silent(view.Container{State: view.Waiting, Reason: "ImagePullBackOff"}), StepPull, time.Time{}},
		"init runs":    {silent(view.Container{Kind: view.KindInit, State: view.Running, StartedAt: ago(50)}), StepInit, ago(50)},
		"not known":    {silent(view.Container{State: view.Waiting, Reason: "ContainerCreating"}), "", time.Time{}},
		"network gone": {with(placed(unready), func(f *view.Pod) { f.Manager, f.Worker = &control.Process{}, silent(unready).Worker }), StepReadiness, ago(50)},
	} {
		if got := Starting(&c.pod, now); got.Step != c.step || !got.Since.Equal(c.since) {
			t.Errorf("%s: step %q since %v, want %q since %v", name, got.Step, got.Since, c.step, c.since)
		}
	}
}

// startingRuleOf returns what the rule shows that decides.
func startingRuleOf(p *view.Pod, at time.Time) string {
	v := &facts{Pod: p, position: positionOf(p), now: at}
	for _, r := range startingRules {
		if len(r.match(v).Evidence) > 0 {
			return r.shows
		}
	}
	return ""
}

func TestStarting(t *testing.T) {
	running := view.Container{State: view.Running, Ready: &yes}
	for name, c := range map[string]struct {
		facts view.Pod
		want  bool
	}{
		"waits":               {kubelets(nil), true},
		"runs":                {placed(running), false},
		"is not ready":        {placed(view.Container{State: view.Running, Ready: &no}), true},
		"has completed":       {with(placed(view.Container{State: view.Terminated, End: &view.End{}}), func(f *view.Pod) { f.Spec.RestartPolicy = "OnFailure" }), false},
		"has failed for good": {with(placed(view.Container{State: view.Terminated, End: &view.End{ExitCode: 1}}), func(f *view.Pod) { f.Spec.RestartPolicy = "Never" }), false},
		"has failed":          {placed(view.Container{State: view.Terminated, End: &view.End{ExitCode: 1}}), true},
		"succeeded":           {kubelets(func(f *view.Pod) { f.Phase = "Succeeded" }), false},
		"terminates":          {kubelets(func(f *view.Pod) { f.Ending = view.Ending{KubeletTerminates: true, SandboxReady: true} }), false},
		"was stopped":         {with(starts("", 0), func(f *view.Pod) { f.Worker.Stopped = true }), false},
		"was rejected":        {with(starts("", 0), func(f *view.Pod) { f.Worker.Rejected, f.Phase = "no", "Failed" }), true},
		"unmanaged, runs":     {with(placed(view.Container{State: view.Running}), func(f *view.Pod) { own(f, view.OwnedByOther) }), false},
		"unmanaged, exited":   {with(placed(view.Container{State: view.Terminated}), func(f *view.Pod) { own(f, view.OwnedByOther) }), false},
		"unmanaged, created":  {with(placed(view.Container{State: view.Created}), func(f *view.Pod) { own(f, view.OwnedByOther) }), true},
		// As describe makes them of a spec in the sandbox: a container that was never created waits.
		"its podctl process exited":       {with(placed(view.Container{State: view.Waiting}), func(f *view.Pod) { own(f, view.OwnedByExited) }), true},
		"its podctl process is suspended": {with(placed(view.Container{State: view.Waiting}), func(f *view.Pod) { own(f, view.OwnedBySuspended) }), true},
		"suspended after its first container": {with(placed(view.Container{State: view.Running, ID: "c1"}), func(f *view.Pod) {
			own(f, view.OwnedBySuspended)
			f.Containers = append(f.Containers, view.Container{Name: "d", Kind: view.KindRegular, State: view.Waiting})
		}), true},
		"suspended while it runs":  {with(placed(view.Container{State: view.Running, ID: "c1"}), func(f *view.Pod) { own(f, view.OwnedBySuspended) }), false},
		"unmanaged, empty sandbox": {with(placed(running), func(f *view.Pod) { own(f, view.OwnedByExited); f.Containers = nil }), true},
	} {
		if got := c.facts.IsStarting(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRulesInTheDocs keeps the tables of layers in the docs true.
func TestRulesInTheDocs(t *testing.T) {
	var exits []rule
	for _, r := range exitRules {
		exits = append(exits, r.rule)
	}
	for file, rules := range map[string][]rule{"stuck-starting.md": startingRules, "stuck-terminating.md": endingRules, "look-inside.md": exits} {
		file = filepath.Join("../../../docs", file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const begin, end = "<!-- layers: written by go test ./internal/pods/why -update -->\n", "<!-- end of table -->\n"
		head, rest, hasBegin := strings.Cut(string(text), begin)
		_, tail, hasEnd := strings.Cut(rest, end)
		if !hasBegin || !hasEnd {
			t.Fatalf("%s has no table of layers", file)
		}
		testutil.Golden(t, *update, file, head+begin+layersTable(rules)+end+tail)
	}
}

func layersTable(rules []rule) string {
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

// A pull that fails although the image is there is not made up for by another pull.
func TestNextOfAContainerWhoseImageIsHeld(t *testing.T) {
	for has, want := range map[bool]string{true: "podctl images app:1", false: "podctl pull app:1"} {
		p := &view.Pod{Containers: []view.Container{{Name: "app", Image: "app:1", Reason: "ImagePullBackOff"}}, HasImage: map[string]bool{"app:1": has}}
		if Complete(p, now); len(p.Next) == 0 || p.Next[0] != want || (len(p.Next) > 1) != has {
			t.Errorf("%v: %q, want %q", has, p.Next, want)
		}
	}
}
