package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// says asserts what each command says of the pod that the kubelet is terminating.
func (k *kubeletPlace) says(name, why string) {
	k.t.Helper()
	found := k.terminating(k.podctl)
	p := found[name+k.node]
	if len(found) != 1 || p.Owner != "kubelet" || p.Layer != "-" || !strings.Contains(p.Why, why) || len(p.Next) > 0 ||
		len(p.Running) != 1 || p.Running[0].PID != k.pidOf(name) {
		k.t.Errorf("terminating: %+v", found)
	}
	if got := k.does("terminating", "-o", "name"); strings.TrimSpace(got) != "default/"+name+k.node {
		k.t.Errorf("terminating -o name: %s", got)
	}
	k.hasNoOrphans()
	if out := k.does("orphans"); !strings.Contains(out, "terminated by the kubelet") || !strings.Contains(out, "default/"+name+k.node) {
		k.t.Errorf("orphans does not say that the kubelet terminates %s:\n%s", name, out)
	}
	shown := map[string]int{}
	for _, p := range decodePods(k.t, k.does("pods", "-o", "json", name+"*")) {
		shown[p.Status+" "+p.Kind]++
	}
	if shown["Terminating kubelet"] != 1 {
		k.t.Errorf("pods: %v", shown)
	}
	if got := decodePods(k.t, k.does("pods", "-o", "json", "--terminating")); len(got) != 1 {
		k.t.Errorf("pods --terminating: %+v", got)
	}
}

// pidOf is the first process of the container of the pod that the kubelet is
// terminating, by the runtime.
func (k *kubeletPlace) pidOf(name string) int {
	k.t.Helper()
	oldest, id := int64(0), ""
	list, err := k.client.Runtime.ListContainers(k.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range list.Containers {
		if c.Labels["io.kubernetes.pod.name"] == name+k.node && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING && (id == "" || c.CreatedAt < oldest) {
			oldest, id = c.CreatedAt, c.Id
		}
	}
	r, err := k.client.Runtime.ContainerStatus(k.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		k.t.Fatal(err)
	}
	var info struct{ PID int }
	if err := json.Unmarshal([]byte(r.Info["info"]), &info); err != nil {
		k.t.Fatal(err)
	}
	return info.PID
}

func (k *kubeletPlace) hasNoOrphans() {
	k.t.Helper()
	if got := classes(k.orphans()); got != "" {
		k.t.Errorf("orphans: %s", got)
	}
}

// listedPod is an element of what `podctl pods -o json` prints.
type listedPod struct {
	Metadata                    struct{ Namespace, Name, UID string }
	Status, Phase, Kind         string
	Ready, Containers, Restarts int
	IPs                         []string
	Sandbox                     string
}

func decodePods(t *testing.T, out string) []listedPod {
	t.Helper()
	var list []listedPod
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return list
}

// agrees asserts that pods says what the runtime and the kubelet say.
func (k *kubeletPlace) agrees() {
	k.t.Helper()
	byRuntime, running := k.byRuntime()
	byKubelet := map[string]v1.Pod{}
	for _, p := range k.kubelet.Pods(k.t) {
		byKubelet[string(p.UID)] = p
	}
	seen := map[string]bool{}
	for _, p := range decodePods(k.t, k.does("pods", "-o", "json")) {
		uid := p.Metadata.UID
		seen[uid] = true
		if p.Kind != "kubelet" || p.Sandbox != byRuntime[uid] || p.Ready != running[uid] || p.Containers != 1 {
			k.t.Errorf("pods: %+v; the runtime: sandbox %s, %d running", p, byRuntime[uid], running[uid])
		}
		object, named := byKubelet[uid]
		switch {
		case !named && p.Status != "Terminating" && running[uid] > 0:
			k.t.Errorf("pods: %+v; the kubelet does not name it", p)
		case named && (p.Status != string(object.Status.Phase) || p.Metadata.Name != object.Name ||
			p.Restarts != int(object.Status.ContainerStatuses[0].RestartCount) || object.Status.PodIP != "" && !slices.Contains(p.IPs, object.Status.PodIP)):
			k.t.Errorf("pods: %+v; the kubelet: %s %s %s", p, object.Name, object.Status.Phase, object.Status.PodIP)
		}
	}
	for uid := range byRuntime {
		if !seen[uid] {
			k.t.Errorf("pods lacks %s, which the runtime lists", uid)
		}
	}
	for uid, p := range byKubelet {
		if !seen[uid] {
			k.t.Errorf("pods lacks %s, which the kubelet names", p.Name)
		}
	}
}

// byRuntime are, by UID, the newest sandboxes of the runtime and the number of
// containers that run.
func (k *kubeletPlace) byRuntime() (sandboxes map[string]string, running map[string]int) {
	k.t.Helper()
	list, err := k.client.Runtime.ListPodSandbox(k.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	sandboxes, running, created := map[string]string{}, map[string]int{}, map[string]int64{}
	for _, s := range list.Items {
		if uid := s.Metadata.Uid; s.CreatedAt > created[uid] {
			sandboxes[uid], created[uid] = s.Id, s.CreatedAt
		}
	}
	containers, err := k.client.Runtime.ListContainers(k.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range containers.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			running[c.Labels["io.kubernetes.pod.uid"]]++
		}
	}
	return sandboxes, running
}
