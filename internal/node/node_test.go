package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/volume"
	"github.com/podctl/podctl/internal/worker"
)

// world is a simulated runtime and a root directory that podctls come to and
// leave. It lives in a synctest bubble.
type world struct {
	t    *testing.T
	sim  *sim.Runtime
	root string
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, sim: sim.New(sim.Options{Record: true}), root: root}
		test(t, w)
		w.sim.Close()
	})
}

// podctl is one process: a node with its locks.
type podctl struct {
	*Node
	t      *testing.T
	world  *world
	client *cri.Client
	locks  *owner.Locks
	end    context.CancelFunc
	ran    chan error

	mu     sync.Mutex
	events []Event
}

const testSource = "test"

// podctl starts one under the name, desiring the manifests.
func (w *world) podctl(instance string, manifests ...string) *podctl {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	p := &podctl{t: w.t, world: w, end: cancel, ran: make(chan error, 1)}
	var err error
	if p.client, err = cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: w.sim.Dial}); err != nil {
		w.t.Fatal(err)
	}
	if p.locks, err = owner.Open(filepath.Join(w.root, "locks"), instance); err != nil {
		w.t.Fatal(err)
	}
	facts := &render.Node{
		Name: "node", IPs: []string{"192.0.2.1"}, MemoryCapacity: 8 << 30, CgroupV2: true,
		PodsDir: filepath.Join(w.root, "pods"), LogDir: filepath.Join(w.root, "logs"),
	}
	p.Node, err = New(ctx, Options{
		Instance: instance, Sources: []string{testSource}, Runtime: p.client, Locks: p.locks, Facts: facts,
		Cgroups: noCgroups{}, Volumes: volume.New(w.root),
		Events: func(ev Event) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.events = append(p.events, ev)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.want(manifests...)
	go func() { p.ran <- p.Run(ctx) }()
	return p
}

// want sets what is desired.
func (p *podctl) want(manifests ...string) {
	p.t.Helper()
	p.Set(testSource, desire(p.t, manifests...))
}

func desire(t *testing.T, manifests ...string) []Desired {
	t.Helper()
	var pods []Desired
	for _, text := range manifests {
		set, err := manifest.Load(t.Context(), []string{"-"}, manifest.LoadOptions{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range set.Pods {
			pods = append(pods, Desired{Pod: m.Pod, Document: m.Document})
		}
	}
	return pods
}

// kill ends the process as SIGKILL does: nothing is said to anybody, and its
// locks are let go by the kernel.
func (p *podctl) kill() {
	p.t.Helper()
	p.end()
	if err := <-p.ran; err != nil {
		p.t.Error(err)
	}
	p.client.Close()
	if err := p.locks.Close(); err != nil {
		p.t.Error(err)
	}
}

// drain ends all pods, and the process.
func (p *podctl) drain() {
	p.t.Helper()
	if err := p.Drain(p.t.Context(), nil); err != nil {
		p.t.Error(err)
	}
	p.kill()
}

// until waits until a pod of the name satisfies the condition; a minute of
// virtual time without it fails the test.
func (p *podctl) until(name string, what string, is func(Info) bool) Info {
	p.t.Helper()
	for range 600 {
		for _, i := range p.Pods() {
			if i.Pod.Name == name && is(i) {
				return i
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("pod %s never was %s; it is %+v\nevents: %v", name, what, p.Pods(), p.reasons())
	return Info{}
}

func running(i Info) bool  { return i.Status.Phase == v1.PodRunning && i.Ready() }
func finished(i Info) bool { return i.Stage == worker.Finished }

func (p *podctl) reasons() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, ev := range p.events {
		all = append(all, ev.Reason)
	}
	return all
}

// empty fails the test if anything is left of any pod.
func (w *world) empty() {
	w.t.Helper()
	client, err := cri.Connect(w.t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: w.sim.Dial})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	pods, err := client.ListPods(w.t.Context())
	if err != nil || len(pods) > 0 {
		w.t.Errorf("left in the runtime: %v %v", pods, err)
	}
	for _, dir := range []string{"pods", "logs", "locks"} {
		if left, _ := os.ReadDir(filepath.Join(w.root, dir)); len(left) > 0 {
			w.t.Errorf("left in %s: %v", dir, left)
		}
	}
}

// calls are the runtime calls that changed something, as "Method what".
func (w *world) calls(methods ...string) []string {
	if len(methods) == 0 {
		methods = []string{"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox"}
	}
	var all []string
	for _, c := range w.sim.Calls(methods...) {
		all = append(all, c.String())
	}
	return all
}

type noCgroups struct{}

func (noCgroups) Parent(*v1.Pod) string     { return "" }
func (noCgroups) Ensure(*v1.Pod) error      { return nil }
func (noCgroups) Remove(types.UID) error    { return nil }
func (noCgroups) RemoveEmptyParents() error { return nil }

// podYAML is a pod with one container c.
func podYAML(name, command string, more ...string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  ` + strings.Join(append(more, "containers:"), "\n  ") + `
  - {name: c, image: "busybox:1", command: [sh, -c, '` + command + `']}
`
}

const job = "restartPolicy: Never"

func TestJobRunsToItsEndAndLeavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("job", "echo hi; exit 3", job))
		i := p.until("job", "finished", finished)
		if i.Status.Phase != v1.PodFailed || i.Status.ContainerStatuses[0].State.Terminated.ExitCode != 3 {
			t.Errorf("status: %+v", i.Status)
		}
		p.drain()
		w.empty()
		want := []string{
			"RunPodSandbox default/job", "CreateContainer default/job/c", "StartContainer default/job/c",
			"StopPodSandbox default/job", "RemoveContainer default/job/c", "RemovePodSandbox default/job",
		}
		if got := w.calls(); !slices.Equal(got, want) {
			t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestSameManifestAdoptsThePodOfADeadPodctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("run-a", web)
		first := a.until("web", "running", running)
		a.kill()
		b := w.podctl("run-b", web)
		second := b.until("web", "running", running)
		if !second.Adopted || first.Status.ContainerStatuses[0].ContainerID != second.Status.ContainerStatuses[0].ContainerID {
			t.Errorf("not the same container: %+v, then %+v", first.Status, second.Status)
		}
		time.Sleep(time.Minute)
		if got := w.calls("RunPodSandbox", "StartContainer"); len(got) != 2 {
			t.Errorf("started again: %v", got)
		}
		b.drain()
		w.empty()
	})
}

func TestJobThatEndedIsNotDoneTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := podYAML("job", "sleep 1", job)
		a := w.podctl("run-a", text)
		a.until("job", "finished", finished)
		a.kill()
		b := w.podctl("run-b", text)
		if i := b.until("job", "finished", finished); !i.Succeeded() {
			t.Errorf("status: %+v", i.Status)
		}
		if got := w.calls("StartContainer"); len(got) != 1 {
			t.Errorf("starts: %v", got)
		}
		b.drain()
		w.empty()
	})
}

// The old pod ends wholly before the new one starts, also if nobody was
// there when the manifest changed.
func TestChangedManifestReplacesThePod(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			before := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5")
			after := podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 5")
			p := w.podctl("run-a", before)
			old := p.until("web", "running", running)
			w.sim.ClearCalls()
			if dead {
				p.kill()
				p = w.podctl("run-b", after)
			} else {
				p.want(after)
			}
			fresh := p.until("web", "replaced", func(i Info) bool { return running(i) && i.Pod.UID != old.Pod.UID })
			if fresh.Status.ContainerStatuses[0].RestartCount != 0 {
				t.Errorf("dead=%v: the new pod has restarts: %+v", dead, fresh.Status)
			}
			got := w.calls("StopContainer", "StopPodSandbox", "RemovePodSandbox", "RunPodSandbox", "StartContainer")
			want := []string{"StopContainer default/web/c", "StopPodSandbox default/web", "RemovePodSandbox default/web", "RunPodSandbox default/web", "StartContainer default/web/c"}
			if !slices.Equal(got, want) {
				t.Errorf("dead=%v: calls:\n%s\nwant:\n%s", dead, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			p.drain()
			w.empty()
		})
	}
}

func TestManifestChangedWhileThePodTerminates(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		versions := []string{"sleep 3601", "sleep 3602", "sleep 3603", "sleep 3604"}
		pod := func(n int) string { return podYAML("web", versions[n], "terminationGracePeriodSeconds: 20") }
		p := w.podctl("run-a", pod(0))
		p.until("web", "running", running)
		for n := range versions {
			p.want(pod(n))
			time.Sleep(3 * time.Second)
		}
		last := desire(t, pod(3))[0].Pod.UID
		p.until("web", "at its last manifest", func(i Info) bool { return running(i) && i.Pod.UID == last })
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("pods in between were started: %v", got)
		}
		p.drain()
		w.empty()
	})
}

// Back to the manifest that is on its way down: it ends, and starts anew.
func TestManifestThatComesBackWhileItsPodTerminates(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 10")
		p := w.podctl("run-a", web)
		first := p.until("web", "running", running)
		p.want()
		time.Sleep(3 * time.Second)
		p.want(web)
		p.until("web", "running anew", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
		})
		p.drain()
		w.empty()
	})
}

func TestPodOfALivingPodctlIsLeftToIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("run-a", web)
		a.until("web", "running", running)
		b := w.podctl("run-b", podYAML("web", "sleep 1"))
		i := b.until("web", "rejected", func(i Info) bool { return i.Rejected != nil })
		if !strings.Contains(i.Rejected.Error(), "run-a") {
			t.Errorf("the owner is not named: %v", i.Rejected)
		}
		b.drain()
		time.Sleep(time.Minute)
		a.until("web", "running on", running)
		a.drain()
		w.empty()
	})
}

func TestStopThatWasCutShortIsBroughtToItsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 20")
		a := w.podctl("run-a", web)
		first := a.until("web", "running", running)
		a.want()
		time.Sleep(5 * time.Second)
		a.kill()
		b := w.podctl("run-b", web)
		second := b.until("web", "running anew", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
		})
		if second.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("it is a restart, not a new pod: %+v", second.Status)
		}
		b.drain()
		w.empty()
	})
}

func TestRuntimeThatGoesAwayAndComesBackIsSurvived(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"), podYAML("job", "sleep 20", job))
		p.until("web", "running", running)
		p.until("job", "running", running)
		w.sim.Crash()
		time.Sleep(30 * time.Second)
		w.sim.Restart()
		if i := p.until("job", "finished", finished); !i.Succeeded() {
			t.Errorf("job: %+v", i.Status)
		}
		p.until("web", "running", running)
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("started again: %v", got)
		}
		for _, reason := range []string{ReasonRuntimeDown, ReasonRuntimeUp} {
			if !slices.Contains(p.reasons(), reason) {
				t.Errorf("no event %s: %v", reason, p.reasons())
			}
		}
		p.drain()
		w.empty()
	})
}

// Whatever call the runtime dies in, the pod comes up once it is back.
func TestRuntimeThatDiesInACallOfAStart(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer", "PodSandboxStatus", "ImageStatus"} {
		for _, after := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				w.sim.Inject(sim.Fault{Method: method, Hang: true, After: after})
				p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
				time.Sleep(time.Second)
				w.sim.Crash()
				time.Sleep(5 * time.Second)
				w.sim.Restart()
				p.until("web", "running", running)
				p.drain()
				w.empty()
			})
		}
	}
}

func TestRemovedManifestEndsItsPodWithItsGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", `trap "" TERM; while true; do sleep 1; done`, "terminationGracePeriodSeconds: 7"))
		p.until("web", "running", running)
		began := time.Now()
		p.want()
		for len(p.Pods()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("took %s, want its grace of 7s", took)
		}
		p.drain()
		w.empty()
	})
}

func TestDrainWithLessGraceHurries(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", `trap "" TERM; while true; do sleep 1; done`, "terminationGracePeriodSeconds: 600"))
		p.until("web", "running", running)
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			zero := int64(0)
			p.Drain(t.Context(), &zero)
		}()
		p.drain()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("took %s although it was hurried after 10s", took)
		}
		w.empty()
	})
}

func TestForeignPodOfTheNameIsAnError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", podYAML("other", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		sandbox, err := render.Sandbox(desire(t, podYAML("web", "sleep 1"))[0].Pod, render.SandboxInput{Node: a.opts.Facts})
		if err != nil {
			t.Fatal(err)
		}
		sandbox.Metadata.Uid = "made-by-crictl"
		sandbox.Labels["io.kubernetes.pod.uid"] = "made-by-crictl"
		id, err := a.client.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		a.want(podYAML("web", "sleep 1"))
		a.until("web", "rejected", func(i Info) bool { return i.Rejected != nil })
		if err := a.client.RemovePodSandbox(t.Context(), id); err != nil {
			t.Error(err)
		}
		a.drain()
	})
}

// A manifest that fixes its uid is another pod under the same uid once it has
// changed, whether podctl was there to see it or not.
func TestChangedManifestOfAFixedUID(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			fixed := func(command string) string {
				return strings.Replace(podYAML("web", command, "terminationGracePeriodSeconds: 2"), "{name: web}", "{name: web, uid: fixed-1}", 1)
			}
			p := w.podctl("run-a", fixed("sleep 3600"))
			first := p.until("web", "running", running)
			if dead {
				p.kill()
				p = w.podctl("run-b", fixed("sleep 7200"))
			} else {
				p.want(fixed("sleep 7200"))
			}
			second := p.until("web", "replaced", func(i Info) bool {
				return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
			})
			if second.Status.ContainerStatuses[0].RestartCount != 0 || second.Pod.Spec.Containers[0].Command[2] != "sleep 7200" {
				t.Errorf("dead=%v: %+v", dead, second)
			}
			p.drain()
			w.empty()
		})
	}
}
