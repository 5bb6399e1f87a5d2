package node

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
)

// foreignPod is a pod that podctl did not create, with the UID of one that it did.
type foreignPod struct {
	w *world
	// kind is one of foreignKinds, name and uid are those of the pod.
	kind, name string
	uid        types.UID
	attempt    uint32
	// command is that of its one container.
	command string

	sandbox, container string // ids
	came               time.Time
}

// The kinds of foreign pods: by a kubelet, without and with the annotation of its
// source, the latter with those that a user of the cluster copied from a pod of podctl's;
// by hand; and one of another UID whose container is labelled with this one.
const (
	kubeletLabels     = "labels of a kubelet"
	kubeletAnnotation = "annotation of a kubelet"
	byHand            = "by hand"
	forgedContainer   = "forged label of a container"
)

var foreignKinds = []string{kubeletLabels, kubeletAnnotation, byHand, forgedContainer}

// run creates the pod and starts its container, or fails the test.
func (f *foreignPod) run() {
	f.w.t.Helper()
	if err := f.create(); err != nil {
		f.w.t.Fatal(err)
	}
}

// create creates the pod and starts its container. Faults of the runtime do not concern
// it.
func (f *foreignPod) create() error {
	ctx, uid := f.w.t.Context(), string(f.uid)
	if f.kind == forgedContainer {
		uid = "of-" + f.name
	}
	labels := func(uid string) map[string]string {
		if f.kind == byHand {
			return nil
		}
		return map[string]string{pod.UIDLabel: uid, pod.NameLabel: f.name, pod.NamespaceLabel: "default", pod.ContainerNameLabel: "c"}
	}
	cfg := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: f.name, Namespace: "default", Uid: uid, Attempt: f.attempt},
		Labels:       labels(uid),
		LogDirectory: filepath.Join(f.w.root, "foreign", f.name),
	}
	if f.kind == kubeletAnnotation {
		cfg.Annotations = map[string]string{
			pod.ConfigSourceAnnotation: "api",
			pod.OwnerAnnotation:        "agent", pod.InstanceAnnotation: "agent-0", pod.ManifestAnnotation: "packed",
		}
	}
	delete(cfg.Labels, pod.ContainerNameLabel)
	sandbox, err := f.w.sim.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		return err
	}
	f.sandbox = sandbox.PodSandboxId
	f.w.foreignIDs.Store(f.sandbox, f)
	container, err := f.w.sim.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: f.sandbox, SandboxConfig: cfg,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "c", Attempt: f.attempt}, Image: &runtimeapi.ImageSpec{Image: "busybox:1"},
			Command: []string{"sh", "-c", "echo foreign; " + f.command}, Labels: labels(string(f.uid)), LogPath: "c.log",
		},
	})
	if err != nil {
		return err
	}
	f.container = container.ContainerId
	f.came = time.Now()
	f.w.foreignIDs.Store(f.container, f)
	_, err = f.w.sim.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: f.container})
	return err
}

// runs reports whether its container does.
func (f *foreignPod) runs() bool {
	c, err := f.w.sim.ContainerStatus(f.w.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: f.container})
	return err == nil && c.Status.State == runtimeapi.ContainerState_CONTAINER_RUNNING
}

// remove removes the pod as its creator does.
func (f *foreignPod) remove() {
	f.w.t.Helper()
	if _, err := f.w.sim.RemovePodSandbox(f.w.t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: f.sandbox}); err != nil {
		f.w.t.Fatal(err)
	}
}

// checkUntouched fails the test unless the runtime has the pod's sandbox and container in
// these states, and its log is there.
func (f *foreignPod) checkUntouched(when string, running bool) {
	f.w.t.Helper()
	state := runtimeapi.ContainerState_CONTAINER_RUNNING
	if !running {
		state = runtimeapi.ContainerState_CONTAINER_EXITED
	}
	s, err := f.w.sim.PodSandboxStatus(f.w.t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: f.sandbox})
	if err != nil || s.Status.State != runtimeapi.PodSandboxState_SANDBOX_READY {
		f.w.t.Errorf("%s: the foreign sandbox: %v, %v", when, s.GetStatus().GetState(), err)
	}
	c, err := f.w.sim.ContainerStatus(f.w.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: f.container})
	if err != nil || c.Status.State != state {
		f.w.t.Errorf("%s: the foreign container: %v, %v", when, c.GetStatus().GetState(), err)
	}
	f.checkLog(when)
}

func (f *foreignPod) logFile() string { return filepath.Join(f.w.root, "foreign", f.name, "c.log") }

func (f *foreignPod) checkLog(when string) {
	f.w.t.Helper()
	log, err := os.ReadFile(f.logFile())
	if err != nil || !strings.Contains(string(log), "foreign") {
		f.w.t.Errorf("%s: the log of the foreign container: %q, %v", when, log, err)
	}
}

func (w *world) isForeign(id string) bool {
	_, foreign := w.foreignIDs.Load(id)
	return foreign
}

// foreignGuard reports calls that change what podctl did not create.
type foreignGuard struct{ w *world }

// changing are the calls that change what they are about.
var changing = []string{
	"StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
	"UpdateContainerResources", "ReopenContainerLog", "ExecSync", "Exec", "Attach", "PortForward",
}

func (g foreignGuard) Begin(method, id string) (end func(error)) {
	if f, ok := g.w.foreignIDs.Load(id); ok && slices.Contains(changing, method) {
		g.w.t.Errorf("%s of the foreign pod %s", method, f.(*foreignPod).name)
	}
	return func(error) {}
}

// listed are the ids in each pod that a command lists, by name.
func (w *world) listed() map[string]string {
	w.t.Helper()
	client := w.client()
	defer client.Close()
	pods, err := client.ListPods(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, p := range pods {
		if ids[p.Name] != "" {
			w.t.Errorf("two pods are named %s", p.Name)
		}
		ids[p.Name] = fmt.Sprint(slices.Sorted(maps.Keys(p.IDs())))
	}
	return ids
}

// ownSandbox is the id of the pod's ready sandbox that podctl created, "" for none.
func (w *world) ownSandbox(name string) string {
	w.t.Helper()
	resp, err := w.sim.ListPodSandbox(w.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range resp.Items {
		if !w.isForeign(s.Id) && s.Metadata.Name == name && isReadySandbox(s) {
			return s.Id
		}
	}
	return ""
}

// A pod that podctl did not create may have the UID of one that it did: a copied
// manifest, or a user of the cluster who means harm. It is another pod, whatever
// becomes of podctl's.
func TestForeignPodWithTheUIDOfAPodIsLeftAlone(t *testing.T) {
	for _, kind := range foreignKinds {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.watch = foreignGuard{w}
				web := fixUID("web", podYAML("web", "echo up; sleep 3600", "terminationGracePeriodSeconds: 1"))
				p := w.podctl("agent", web)
				p.until("web", "running", running)
				before := w.ownSandbox("web")
				f := &foreignPod{w: w, kind: kind, name: "other", uid: "fixed-1", attempt: 5, command: "sleep 7200"}
				f.run()
				time.Sleep(time.Minute)
				f.checkUntouched("while the pod runs", true)
				if i := p.until("web", "running", running); w.ownSandbox("web") != before || i.Status.ContainerStatuses[0].RestartCount != 0 {
					t.Errorf("the pod was restarted: %+v", i.Status.ContainerStatuses)
				}
				if ids := w.listed(); len(ids) != 2 || !strings.Contains(ids["other"], f.container) || !strings.Contains(ids["web"], before) {
					t.Errorf("the pods are %v", ids)
				}

				w.sim.KillSandbox(before)
				time.Sleep(time.Minute)
				after := w.ownSandbox("web")
				if p.until("web", "running", running); after == "" || after == before {
					t.Errorf("the sandbox is %q after %q", after, before)
				}
				f.checkUntouched("after the sandbox of the pod died", true)

				// For a while podctl's own sandbox is not there at all.
				release := w.sim.Inject("method=RunPodSandbox delay=20s")
				client := w.client()
				defer client.Close()
				if err := client.RemovePodSandbox(t.Context(), before); err != nil {
					t.Fatal(err)
				}
				if err := client.RemovePodSandbox(t.Context(), after); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				f.checkUntouched("while the pod has no sandbox", true)
				time.Sleep(time.Minute)
				release()
				p.until("web", "running", running)
				f.checkUntouched("after the sandbox of the pod was removed", true)

				p.kill()
				p = w.podctl("agent", web)
				if i := p.until("web", "running", running); !i.Adopted {
					t.Error("the next podctl has not adopted the pod")
				}
				time.Sleep(time.Minute)
				f.checkUntouched("after a restart of podctl", true)

				if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
					t.Error(err)
				}
				f.checkUntouched("after podctl stop", true)
				p.drain()
				f.checkUntouched("after podctl drained", true)
				f.remove()
				w.empty()
			})
		})
	}
}

// The garbage of a foreign pod is not podctl's, nor are the containers of which the
// newest died under the name of one of podctl's.
func TestForeignPodWithTheUIDOfAPodKeepsItsDeadContainers(t *testing.T) {
	for _, kind := range foreignKinds {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.watch = foreignGuard{w}
				w.killUnknown = kind != byHand
				p := w.podctl("agent", fixUID("job", podYAML("job", "sleep 1; exit 1", "restartPolicy: OnFailure")))
				f := &foreignPod{w: w, kind: kind, name: "other", uid: "fixed-1", attempt: 5, command: "exit 0"}
				p.until("job", "restarted", func(i Info) bool {
					return len(i.Status.ContainerStatuses) > 0 && i.Status.ContainerStatuses[0].RestartCount > 0
				})
				f.run()
				time.Sleep(10 * time.Minute)
				f.checkUntouched("beside a pod that crashes", false)
				i := p.until("job", "restarted again", func(Info) bool { return true })
				if got := i.Status.ContainerStatuses[0]; got.RestartCount < 5 || got.LastTerminationState.Terminated.ExitCode != 1 {
					t.Errorf("the status is that of the foreign container: %+v", got)
				}
				p.want()
				time.Sleep(time.Minute)
				p.drain()
				f.checkUntouched("after the pod was removed", false)
				f.remove()
				w.empty()
			})
		})
	}
}

// A kubelet would take a sandbox that has the UID of its pod for one of its own.
func TestPodStartsOnceAKubeletsPodOfItsUIDIsGone(t *testing.T) {
	for _, kind := range []string{kubeletLabels, kubeletAnnotation} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.watch = foreignGuard{w}
				f := &foreignPod{w: w, kind: kind, name: "other", uid: "fixed-1", command: "sleep 3600"}
				f.run()
				p := w.podctl("agent", fixUID("web", podYAML("web", "sleep 3600")))
				p.until("web", "waiting", waits(lifecycle.ForeignPod))
				f.remove()
				p.until("web", "running", running)
				p.drain()
				w.empty()
			})
		})
	}
}
