package describe

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

var now = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func before(d time.Duration) time.Time { return now.Add(-d) }

func id(letter string) string { return strings.Repeat(letter, 64) }

// situated is what was read of a pod, and its reader.
type situated struct {
	*view.Reader
	*view.Sources
}

// finish returns the pod, judged.
func (c *situated) finish(t *testing.T) *view.Pod {
	p := c.Finish(t.Context(), c.Sources)
	why.Complete(p, now)
	return p
}

// situation is a pod default/web that was started 41 s ago, with a ready sandbox.
func situation(t *testing.T) *situated {
	t.Helper()
	c := &situated{
		Reader: &view.Reader{
			Now: func() time.Time { return now }, LogLines: 3,
			KernelLog: func() (view.KernelLog, error) { t.Error("the kernel's log was read"); return view.KernelLog{}, nil },
		},
		Sources: &view.Sources{
			Tree: &cgroup.Tree{}, Details: map[string]cri.Details{id("5"): {PID: 811, NetNS: "/run/netns/cni-1f"}},
			Pod: &view.Pod{
				Metadata: view.Metadata{UID: "8f73", Namespace: "default", Name: "web"},
				Runtime: &pod.Pod{
					UID: "8f73", Namespace: "default", Name: "web",
					Sandboxes: []*pod.Sandbox{{ID: id("5"), State: pod.Running, CreatedAt: before(41 * time.Second), Labels: map[string]string{"app": "web", pod.UIDLabel: "8f73"}}},
				},
				RuntimeStatus: &pod.Status{UID: "8f73", Sandboxes: []*pod.SandboxStatus{{ID: id("5"), State: pod.Running, IPs: []string{"10.88.0.7"}}}},
			},
		},
	}
	return c
}

// contains adds a container to what the runtime lists and reports.
func (c *situated) contains(s pod.ContainerStatus, d cri.Details) {
	s.SandboxID, s.Image = id("5"), "registry.test/app:1"
	if s.CreatedAt.IsZero() {
		s.CreatedAt = s.StartedAt
	}
	listed := &pod.Container{ID: s.ID, SandboxID: s.SandboxID, Name: s.Name, Attempt: s.Attempt, State: s.State, CreatedAt: s.CreatedAt}
	c.Sources.Pod.Runtime.Containers = append([]*pod.Container{listed}, c.Sources.Pod.Runtime.Containers...)
	c.RuntimeStatus.Containers = append([]*pod.ContainerStatus{&s}, c.RuntimeStatus.Containers...)
	c.Details[s.ID] = d
}

// managed makes the pod one of a live podctl process, which shows an object.
func (c *situated) managed(w control.Worker, containers ...v1.Container) *v1.Pod {
	c.Pod.Manager, c.Pod.Worker, c.Pod.Creator = &control.Process{}, w, "agent"
	c.Pod.Verdict = owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl}
	c.Pod.Worker.Desired = true
	if w.Phase == "" {
		c.Pod.Worker.Phase, c.Pod.Worker.Since = "syncing", before(41*time.Second)
	}
	return c.known(view.FromPodctl, containers...)
}

func (c *situated) known(from string, containers ...v1.Container) *v1.Pod {
	c.Object, c.From = &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "8f73", Labels: map[string]string{"app": "web"}},
		Spec:       v1.PodSpec{Containers: containers, RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30))},
	}, from
	return c.Object
}

func app(name string) v1.Container { return v1.Container{Name: name, Image: "registry.test/app:1"} }

func running(name string) pod.ContainerStatus {
	return pod.ContainerStatus{ID: id("a"), Name: name, State: pod.Running, StartedAt: before(40 * time.Second), User: &pod.User{UID: 1000, GID: 1000}}
}

func exited(name string, attempt uint32, code int32, reason string) pod.ContainerStatus {
	return pod.ContainerStatus{
		ID: id("b"), Name: name, Attempt: attempt, State: pod.Exited, ExitCode: code, Reason: reason,
		StartedAt: before(10 * time.Second), FinishedAt: before(8 * time.Second),
	}
}

func waiting(name, reason, message string, restarts int32) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, RestartCount: restarts, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

// TestPages: each page begins with what is wrong, and ends with what to type next.
func TestPages(t *testing.T) {
	for name, build := range map[string]func(t *testing.T, c *situated){
		"running": func(_ *testing.T, c *situated) {
			ct := app("app")
			ct.Command = []string{"sh", "-c", "exec app"}
			ct.Resources.Limits = v1.ResourceList{"memory": resource.MustParse("64Mi")}
			ct.Env = []v1.EnvVar{
				{Name: "MODE", Value: "fast"},
				{Name: "API_TOKEN", Value: "0123"},
				{Name: "PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "db"}, Key: "pw"}}},
			}
			ct.Ports = []v1.ContainerPort{{ContainerPort: 80, Protocol: v1.ProtocolTCP, HostPort: 8080}}
			ct.LivenessProbe = &v1.Probe{PeriodSeconds: 10, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
			ct.VolumeMounts = []v1.VolumeMount{{Name: "config", MountPath: "/etc/app", ReadOnly: true}}
			p := c.managed(control.Worker{PodPhase: v1.PodRunning, Ready: 1, Containers: 1, StartTime: before(41 * time.Second)}, ct)
			p.Spec.Volumes = []v1.Volume{{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "web-config"}}}}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", Ready: true}}
			s := running("app")
			s.Mounts = []pod.Mount{{ContainerPath: "/etc/app", HostPath: "/var/lib/podctl/config"}, {ContainerPath: "/etc/hosts", HostPath: "/x"}}
			c.contains(s, cri.Details{PID: 9120})
		},
		"crash-loop": func(t *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodRunning, PodStatus: "CrashLoopBackOff", Containers: 1, Restarts: 4, NextWake: now.Add(13 * time.Second), Waiting: []control.Waiting{
				{Container: "cache", Reason: "CrashLoopBackOff", RetryAt: now.Add(12 * time.Second), BackOffSeconds: 20},
			}}, app("cache"))
			p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("cache", "CrashLoopBackOff", "back-off 20s restarting failed container=cache pod=web_default(8f73)", 4)}
			s := exited("cache", 4, 1, "Error")
			s.Message = "no config at /etc/cache.conf\n"
			s.LogPath = filepath.Join(t.TempDir(), "4.log")
			lines := "2026-01-02T15:03:55Z stdout F 1\n2026-01-02T15:03:56Z stdout F 2\n2026-01-02T15:03:57Z stderr F loading\n2026-01-02T15:03:57Z stderr F no config at /etc/cache.conf\n"
			if err := os.WriteFile(s.LogPath, []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			c.contains(s, cri.Details{})
		},
		"oom-killed": func(_ *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodRunning, PodStatus: "CrashLoopBackOff", Containers: 1, Restarts: 1, Waiting: []control.Waiting{
				{Container: "cache", Reason: "CrashLoopBackOff", RetryAt: now.Add(2 * time.Second), BackOffSeconds: 10},
			}}, app("cache"))
			p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("cache", "CrashLoopBackOff", "back-off 10s restarting failed container=cache pod=web_default(8f73)", 1)}
			c.contains(exited("cache", 1, 137, "OOMKilled"), cri.Details{MemoryLimit: new(uint64(64 << 20))})
			c.KernelLog = func() (view.KernelLog, error) {
				return view.KernelLog{Records: records(
					"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/pods/pod8f73/"+id("b")+",task_memcg=/pods/pod8f73/"+id("b")+",task=cache,pid=9120,uid=0",
					"Memory cgroup out of memory: Killed process 9120 (cache) total-vm:99kB, anon-rss:65012kB, file-rss:0kB, shmem-rss:0kB",
				)}, nil
			}
		},
		"image-pull": func(_ *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodPending, PodStatus: "ImagePullBackOff", Containers: 1, Waiting: []control.Waiting{
				{Container: "app", Reason: "ImagePullBackOff", RetryAt: now.Add(13 * time.Second)},
			}}, app("app"))
			p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("app", "ImagePullBackOff", `Back-off pulling image "registry.test/app:1": not found`, 0)}
		},
		"pulling": func(_ *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodPending, PodStatus: "ContainerCreating", Containers: 2}, app("app"), app("other"))
			p.Spec.Containers[1].Image = "registry.test/other:1"
			p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("app", "ContainerCreating", "", 0), waiting("other", "ContainerCreating", "", 0)}
		},
		"init-1-of-2": func(_ *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodPending, PodStatus: "Init:1/2", Containers: 1}, app("app"))
			p.Spec.InitContainers = []v1.Container{app("schema"), app("seed")}
			p.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "schema", Ready: true}, {Name: "seed"}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("app", "PodInitializing", "", 0)}
			c.contains(exited("schema", 0, 0, "Completed"), cri.Details{})
			c.contains(running("seed"), cri.Details{PID: 77})
		},
		"terminating": func(_ *testing.T, c *situated) {
			w := control.Worker{
				Phase: "terminating", Since: before(12 * time.Second), Cause: "deleted", PodPhase: v1.PodRunning, Ready: 1, Containers: 1,
				Operation: "terminate", OperationSince: before(12 * time.Second), StopRequested: before(12 * time.Second), GraceSeconds: 30,
				Calls: []control.Call{{Method: "StopContainer", ID: id("a"), Container: "app", Since: before(12 * time.Second)}},
			}
			c.managed(w, app("app")).DeletionTimestamp = new(metav1.NewTime(now.Add(18 * time.Second)))
			c.contains(running("app"), cri.Details{PID: 8812})
			c.Ending = view.Ending{Requested: before(12 * time.Second), GraceLeft: new(18 * time.Second), SandboxReady: true, Containers: []view.ContainerProcess{{
				Name: "app", ID: id("a"), PID: 8812, Process: proc.Process{PID: 8812, State: proc.Sleeping, Ignored: 1 << (15 - 1)}, WaitChannel: "do_select",
			}}}
		},
		"probe-fails": func(_ *testing.T, c *situated) {
			ct := app("app")
			ct.ReadinessProbe = &v1.Probe{PeriodSeconds: 5, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
			p := c.managed(control.Worker{PodPhase: v1.PodRunning, Containers: 1, Unready: []event.Unready{{Container: "app", Probe: event.Probe{
				Type: "Readiness", Result: event.ProbeFailed, Failures: 3, Output: "dial tcp 10.88.0.7:80: connection refused",
			}}}}, ct)
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app"}}
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: "containers with unready status: [app]"}}
			c.contains(running("app"), cri.Details{PID: 9120})
		},
		"bare": func(_ *testing.T, c *situated) {
			c.Sources.Pod.Runtime.Sandboxes[0].Labels = nil
			s := running("app")
			s.Mounts = []pod.Mount{{ContainerPath: "/data", HostPath: "/srv/data", ReadOnly: true}}
			c.contains(s, cri.Details{PID: 9120})
			c.contains(exited("job", 0, 143, "Error"), cri.Details{})
		},
		"two-run": func(_ *testing.T, c *situated) {
			c.Sources.Pod.Runtime.Sandboxes[0].Attempt = 1
			c.Sources.Pod.Runtime.Sandboxes = append(c.Sources.Pod.Runtime.Sandboxes, &pod.Sandbox{ID: id("4"), State: pod.Running, CreatedAt: before(time.Hour)})
			for attempt, letter := range []string{"a", "b", "c"} {
				s := running("app")
				s.ID, s.Attempt, s.StartedAt = id(letter), uint32(attempt), before(time.Duration(50-10*attempt)*time.Second)
				c.contains(s, cri.Details{PID: 9120 + attempt})
			}
			c.Sources.Pod.Runtime.Containers[1].State = pod.Unknown
		},
		"newest-attempt-unread": func(_ *testing.T, c *situated) {
			c.contains(exited("app", 0, 3, "Error"), cri.Details{})
			newest := exited("app", 1, 4, "Error")
			newest.ID = id("c")
			c.contains(newest, cri.Details{})
			c.RuntimeStatus.Containers = c.RuntimeStatus.Containers[1:]
			c.Unread = []view.Unread{{Layer: "status", Why: "read status of container aaa: no answer within 2s"}}
		},
		"clock-set-back": func(_ *testing.T, c *situated) {
			c.contains(exited("job", 0, 3, "Error"), cri.Details{})
			c.contains(running("app"), cri.Details{PID: 9120})
			c.RuntimeStatus.Containers[1].FinishedAt = before(-time.Hour)
			c.RuntimeStatus.Containers[1].StartedAt = before(-2 * time.Hour)
			c.RuntimeStatus.Containers[0].StartedAt = before(-time.Hour)
		},
		"dead-sandbox": func(_ *testing.T, c *situated) {
			c.Pod.Creator = "run-1"
			c.Sources.Pod.Runtime.Sandboxes[0].State, c.RuntimeStatus.Sandboxes[0].State = pod.Exited, pod.Exited
			c.known(view.FromSandbox, app("app"))
			c.contains(exited("app", 0, 255, "Unknown"), cri.Details{})
			c.Unread = []view.Unread{{Layer: "details", Why: "read status of sandbox 555: no answer within 2s"}}
		},
		"rejected": func(_ *testing.T, c *situated) {
			c.Sources.Pod.Runtime, c.RuntimeStatus = nil, nil
			c.managed(control.Worker{Phase: "unknown", PodPhase: v1.PodPending, WaitReason: "NameHeld", Rejected: "pod default/web of another podctl has the name", NextWake: now.Add(30 * time.Second)}, app("app"))
		},
		"not-admitted": func(_ *testing.T, c *situated) {
			c.Sources.Pod.Runtime, c.RuntimeStatus = nil, nil
			p := c.managed(control.Worker{
				Phase: "unknown", PodPhase: v1.PodFailed, Rejected: "NodePorts: no free ports: host port in use: default/api has port 80/TCP", Advice: "change hostPort",
			}, app("app"))
			p.Status = v1.PodStatus{Phase: v1.PodFailed, Reason: "NodePorts", Message: "Pod was rejected: no free ports"}
		},
		"readiness-gate": func(_ *testing.T, c *situated) {
			p := c.managed(control.Worker{PodPhase: v1.PodRunning, Ready: 1, Containers: 1, NotReady: `condition of gate "example.com/lb" does not exist`}, app("app"))
			p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/dns"}, {ConditionType: "example.com/lb"}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "app", Ready: true}}
			p.Status.Conditions = []v1.PodCondition{
				{Type: "example.com/dns", Status: v1.ConditionTrue},
				{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: pod.ReadinessGatesNotReady, Message: `condition of gate "example.com/lb" does not exist`},
			}
			c.contains(running("app"), cri.Details{PID: 9120})
		},
		"hostile": func(_ *testing.T, c *situated) {
			s := exited("job", 0, 3, "Error")
			s.Message = "first\nsecond \x1b[31mred"
			c.contains(s, cri.Details{})
			c.Sources.Events = []view.Event{{Time: before(time.Minute), Warning: true, Reason: "Killing", Container: "other", Message: "line\nbreak"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := situation(t)
			build(t, c)
			testutil.Golden(t, *update, filepath.Join("testdata", name+".txt"), Page(c.finish(t), now))
		})
	}
}

func TestBackOffIsParsedOnlyForKubeletPods(t *testing.T) {
	const message = "back-off 20s restarting failed container=cache pod=web_default(8f73)"
	for name, c := range map[string]struct {
		worker  *control.Worker
		message string
		retryAt time.Time
		seconds float64
	}{
		"kubelet":                       {nil, message, now.Add(12 * time.Second), 20},
		"kubelet, another message":      {nil, "back-off restarting", time.Time{}, 0},
		"podctl":                        {&control.Worker{Waiting: []control.Waiting{{Container: "cache", Reason: "CrashLoopBackOff", RetryAt: now.Add(5 * time.Second), BackOffSeconds: 40}}}, message, now.Add(5 * time.Second), 40},
		"podctl, of another container":  {&control.Worker{Waiting: []control.Waiting{{Container: "app", Reason: "CrashLoopBackOff", RetryAt: now}}}, message, time.Time{}, 0},
		"podctl, of an earlier version": {&control.Worker{Waiting: []control.Waiting{{Container: "cache", Reason: "CrashLoopBackOff"}}}, message, time.Time{}, 0},
	} {
		s := situation(t)
		p := s.known(view.FromKubelet, app("cache"))
		p.Status.ContainerStatuses = []v1.ContainerStatus{waiting("cache", "CrashLoopBackOff", c.message, 4)}
		if c.worker != nil {
			s.Manager, s.Worker = &control.Process{}, *c.worker
		}
		s.contains(exited("cache", 4, 1, "Error"), cri.Details{})
		if got := s.finish(t).Containers[0]; !got.RetryAt.Equal(c.retryAt) || got.BackOffSeconds != c.seconds {
			t.Errorf("%s: retry at %s, back-off %vs; want %s, %vs", name, got.RetryAt, got.BackOffSeconds, c.retryAt, c.seconds)
		}
	}
}

func TestUnreadableKernelLogIsListed(t *testing.T) {
	c := situation(t)
	c.contains(exited("app", 0, 137, "Error"), cri.Details{})
	c.KernelLog = func() (view.KernelLog, error) { return view.KernelLog{}, errors.New("permission denied") }
	f := c.finish(t)
	if len(f.Unread) != 1 || f.Unread[0].Layer != "kernel log" || f.Containers[0].End.Cause.Kind != view.CauseSignal {
		t.Errorf("%+v, %+v", f.Unread, f.Containers[0].End)
	}
}

// records are records of the kernel's log without times.
func records(texts ...string) []view.KernelRecord {
	var all []view.KernelRecord
	for _, text := range texts {
		all = append(all, view.KernelRecord{Text: text})
	}
	return all
}

// The counters and the reason of runtimes are those of the whole pod.
func TestContainerBesideOneThatWasKilled(t *testing.T) {
	c := situation(t)
	app := exited("app", 0, 137, "OOMKilled")
	c.contains(app, cri.Details{MemoryLimit: new(uint64(64 << 20))})
	beside := exited("beside", 0, 0, "OOMKilled")
	beside.ID = id("c")
	c.contains(beside, cri.Details{})
	c.KernelLog = func() (view.KernelLog, error) {
		return view.KernelLog{Records: records(fmt.Sprintf("oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/pods/%s,task_memcg=/pods/%[1]s,task=x,pid=5,uid=0", app.ID)), Since: before(time.Hour)}, nil
	}
	for _, ct := range c.finish(t).Containers {
		want := view.CauseOOM
		if ct.Name == "beside" {
			want = view.CauseCompleted
		}
		if ct.End.Cause.Kind != want || ct.Name == "beside" && !slices.ContainsFunc(ct.End.Cause.Evidence, func(s string) bool { return strings.Contains(s, "another container") }) {
			t.Errorf("%s: %+v", ct.Name, ct.End.Cause)
		}
	}
}
