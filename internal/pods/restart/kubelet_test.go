package restart

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// kubeletWorld is a simulated runtime with a pod of a kubelet's, and a server that answers
// for the kubelet.
type kubeletWorld struct {
	t      *testing.T
	sim    *sim.Runtime
	client *cri.Client
	r      *Restarter
	mu     sync.Mutex
	pods   []v1.Pod
	config *runtimeapi.PodSandboxConfig
	// sandbox is the id of the pod's sandbox.
	sandbox string
}

// program ends by itself when it is told to.
const program = "trap 'exit 3' TERM; while true; do sleep 1; done"

func newKubeletWorld(t *testing.T, policy v1.RestartPolicy) *kubeletWorld {
	k := &kubeletWorld{t: t, sim: sim.New(sim.Options{Record: true})}
	t.Cleanup(k.sim.Close)
	var err error
	if k.client, err = cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: k.sim.Dial}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.client.Close)
	hook := &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}}
	p := v1.Pod{Spec: v1.PodSpec{RestartPolicy: policy, TerminationGracePeriodSeconds: new(int64(20)), Containers: []v1.Container{{Name: "c", Lifecycle: hook}}}}
	p.Name, p.Namespace, p.UID, p.Status.Phase = "web", "default", "uid-web", v1.PodRunning
	k.pods = []v1.Pod{p}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pods" {
			http.NotFound(w, r)
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		_ = json.NewEncoder(w).Encode(v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: k.pods})
	}))
	t.Cleanup(server.Close)
	k.config = &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "uid-web"},
		Labels:   map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "uid-web"},
	}
	s, err := k.sim.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: k.config})
	if err != nil {
		t.Fatal(err)
	}
	k.sandbox = s.PodSandboxId
	k.startAttempt(0)
	locks, procs := filepath.Join(t.TempDir(), "runtime"), proc.FS(testutil.EmptyProc(t))
	log := slog.New(slog.DiscardHandler)
	names := &stop.Names{Dir: locks, Instance: "restart-1", Procs: procs, Log: log}
	t.Cleanup(func() { _ = names.Close() })
	k.r = &Restarter{
		Options: Options{Wait: true, Timeout: time.Minute}, Client: k.client, Names: names, Log: log,
		Owners: owners.Asker{
			Locks: locks, Procs: procs, Kubelet: owners.KubeletIfNeeded, Self: "restart-1",
			Sources: sources.Sources{AskKubelet: true, Kubelet: kubelet.Options{URL: server.URL}},
		},
	}
	return k
}

// startAttempt starts an attempt of the container, as the kubelet does.
func (k *kubeletWorld) startAttempt(attempt uint32) {
	image := &runtimeapi.ImageSpec{Image: "busybox"}
	if _, err := k.sim.PullImage(k.t.Context(), &runtimeapi.PullImageRequest{Image: image}); err != nil {
		k.t.Error(err)
	}
	c, err := k.sim.CreateContainer(k.t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: k.sandbox, SandboxConfig: k.config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "c", Attempt: attempt}, Image: image, Command: []string{"sh", "-c", program},
			Labels: map[string]string{"io.kubernetes.container.name": "c", "io.kubernetes.pod.uid": "uid-web", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default"},
		},
	})
	if err == nil {
		_, err = k.sim.StartContainer(k.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId})
	}
	if err != nil {
		k.t.Error(err)
	}
}

// pod is the pod as commands find it.
func (k *kubeletWorld) pod() *view.Pod {
	k.t.Helper()
	all, err := (&view.Reader{Asker: k.r.Owners, Log: k.r.Log, Unanswered: func(err error) { k.t.Error(err) }}).Pods(k.t.Context(), k.client)
	if err != nil || len(all) != 1 {
		k.t.Fatalf("%d pods: %v", len(all), err)
	}
	return all[0]
}

// restartOnStop starts the next attempt once the runtime has stopped one.
func (k *kubeletWorld) restartOnStop() {
	if testutil.Poll(time.Minute, func() bool { return len(k.sim.Calls("StopContainer")) > 0 }) {
		k.startAttempt(1)
	}
}

// A container of a kubelet's is stopped once, after its hook and with its grace period, and
// the kubelet's next attempt is waited for.
func TestKubeletsContainerIsStoppedForItsKubelet(t *testing.T) {
	k := newKubeletWorld(t, v1.RestartPolicyAlways)
	go k.restartOnStop()
	results, err := k.r.Restart(t.Context(), k.pod(), nil)
	if err != nil || len(results) != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	res := results[0]
	if res.By != itsKubelet || res.Old.Number != 0 || res.Old.ExitCode == nil || *res.Old.ExitCode != 3 || res.Next == nil || res.Next.Number != 1 || res.Next.ID == res.Old.ID {
		t.Errorf("%+v", res)
	}
	if hooks := k.sim.Calls("ExecSync"); len(hooks) != 1 || hooks[0].At.After(k.sim.Calls("StopContainer")[0].At) {
		t.Errorf("hooks %v", hooks)
	}
	if stops := k.sim.Calls("StopContainer"); len(stops) != 1 || !strings.Contains(fmt.Sprint(stops[0].Request), "timeout:20") {
		t.Errorf("stops %v", stops)
	}
	if n := len(k.sim.Calls("StopPodSandbox")); n > 0 {
		t.Errorf("%d sandboxes were stopped", n)
	}
}

// Nothing is stopped that is refused, whatever the reason.
func TestKubeletsContainerIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		policy    v1.RestartPolicy
		prepare   func(*kubeletWorld)
		container string
		want      string
	}{
		"Never":           {v1.RestartPolicyNever, nil, "c", "restart default/web/c: restartPolicy Never does not start it again"},
		"OnFailure":       {v1.RestartPolicyOnFailure, nil, "", "restart default/web/c: restartPolicy OnFailure starts it again with some exit codes only"},
		"not its":         {v1.RestartPolicyAlways, nil, "d", "restart default/web/d: the pod's spec has no such container"},
		"it is deleted":   {v1.RestartPolicyAlways, func(k *kubeletWorld) { k.pods[0].DeletionTimestamp = new(metav1.Now()) }, "c", "its pod is terminating"},
		"not named":       {v1.RestartPolicyAlways, func(k *kubeletWorld) { k.pods[0].UID = types.UID("another") }, "c", "names none of the pods that run here"},
		"another command": {v1.RestartPolicyAlways, func(k *kubeletWorld) { k.holdsName("stop-1") }, "c", `is managed by the living podctl "stop-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubeletWorld(t, c.policy)
			if c.prepare != nil {
				c.prepare(k)
			}
			var named []string
			if c.container != "" {
				named = []string{c.container}
			}
			results, err := k.r.Restart(t.Context(), k.pod(), named)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(results) > 0 {
				t.Errorf("%+v, %v; want %q", results, err, c.want)
			}
			if calls := append(k.sim.Calls("StopContainer"), k.sim.Calls("ExecSync")...); len(calls) > 0 {
				t.Errorf("calls %v", calls)
			}
		})
	}
}

func (k *kubeletWorld) holdsName(instance string) {
	k.t.Helper()
	locks, err := owner.Open(k.r.Names.Dir, instance, k.r.Names.Procs)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = locks.Close() })
	if err := locks.Claim("web_default"); err != nil {
		k.t.Fatal(err)
	}
}

// With force, a container that may not start again is stopped; if none follows, the error
// has what the kubelet says.
func TestNoNextAttempt(t *testing.T) {
	k := newKubeletWorld(t, v1.RestartPolicyOnFailure)
	k.r.Force, k.r.Timeout = true, time.Millisecond
	k.pods[0].Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{
		Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container=c"},
	}}}
	results, err := k.r.Restart(t.Context(), k.pod(), []string{"c"})
	want := "restart default/web/c: attempt 0 was not followed by another within 1ms: CrashLoopBackOff: back-off 40s restarting failed container=c"
	if err == nil || err.Error() != want || len(results) > 0 {
		t.Errorf("%+v, %v", results, err)
	}
	if n := len(k.sim.Calls("StopContainer")); n != 1 {
		t.Errorf("%d stops", n)
	}
}
