package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	internalpod "github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// rawPod is a pod as the bare lists of a runtime show it.
type rawPod struct {
	// name and uid are those of the sandbox's metadata.
	name, uid string
	// sandbox is the newest sandbox; ready reports whether one is.
	sandbox string
	ready   bool
	// running are the ids of the containers that run.
	running []string
}

// alive reports whether something of it runs.
func (p *rawPod) alive() bool { return p.ready || len(p.running) > 0 }

// rawPods reads the pods of a runtime by the UID that podctl shows: the UID alone does
// not identify a pod that neither a kubelet nor podctl created.
func rawPods(t *testing.T, client *bare.Client) map[string]*rawPod {
	t.Helper()
	sandboxes, err := client.Runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	containers, err := client.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	pods, of, created := map[string]*rawPod{}, map[string]*rawPod{}, map[string]int64{}
	for _, s := range sandboxes.Items {
		uid := s.Metadata.Uid
		if s.Annotations[internalpod.OwnerAnnotation] == "" && s.Annotations[internalpod.ConfigSourceAnnotation] == "" {
			uid += "_" + s.Metadata.Namespace + "_" + s.Metadata.Name
		}
		if pods[uid] == nil {
			pods[uid] = &rawPod{name: s.Metadata.Name, uid: s.Metadata.Uid}
		}
		p := pods[uid]
		of[s.Id] = p
		p.ready = p.ready || s.State == runtimeapi.PodSandboxState_SANDBOX_READY
		if s.CreatedAt > created[uid] {
			p.sandbox, created[uid] = s.Id, s.CreatedAt
		}
	}
	for _, c := range containers.Containers {
		if p := of[c.PodSandboxId]; p != nil && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			p.running = append(p.running, c.Id)
		}
	}
	return pods
}

// agreesWithCrictlsPods compares the runtime's sandboxes with those that crictl lists,
// where there is a crictl. A kubelet may stop one between the two lists.
func (p *place) agreesWithCrictlsPods(client *bare.Client) {
	p.t.Helper()
	crictl, err := exec.LookPath("crictl")
	if err != nil {
		p.t.Log("crictl is not on the PATH: podctl is compared with the bare CRI lists only")
		return
	}
	var differences []string
	eventually(p.t, "crictl agrees with the runtime", func() bool {
		differences = nil
		ready := p.crictlsPods(crictl)
		for _, raw := range rawPods(p.t, client) {
			if is, listed := ready[raw.uid]; !listed || is != raw.ready {
				differences = append(differences, fmt.Sprintf("crictl lists %s: %v, ready %v; the runtime says %v", raw.name, listed, is, raw.ready))
			}
		}
		return len(differences) == 0
	}, func() string { return strings.Join(differences, "\n") })
}

// crictlsPods are the UIDs of the pods that crictl lists, and whether each has a
// sandbox that is ready.
func (p *place) crictlsPods(crictl string) map[string]bool {
	p.t.Helper()
	out, err := exec.Command(crictl, "-r", p.rt.Endpoint, "pods", "-o", "json").Output()
	if err != nil {
		p.t.Fatal(err)
	}
	var list struct {
		Items []struct {
			ID, State string
			Metadata  struct{ UID string }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		p.t.Fatal(err)
	}
	ready := map[string]bool{}
	for _, s := range list.Items {
		ready[s.Metadata.UID] = ready[s.Metadata.UID] || s.State == "SANDBOX_READY"
	}
	return ready
}

// answer is what podctl says of the pods of a node: UIDs of orphans with their
// classes, UIDs of terminating pods with the containers that run, both sorted.
type answer struct{ orphans, terminating []string }

func (a answer) equal(b answer) bool {
	return slices.Equal(a.orphans, b.orphans) && slices.Equal(a.terminating, b.terminating)
}

// answers asks orphans and terminating. Directories are left out: the runtime does
// not list them.
func (p *place) answers() answer {
	p.t.Helper()
	var a answer
	var found []orphan
	if err := json.Unmarshal([]byte(p.does("orphans", "-o", "json")), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, o := range found {
		if o.Class != "directory" {
			a.orphans = append(a.orphans, o.Metadata.UID+" "+o.Class)
		}
	}
	out, errw, code := p.podctl("terminating", "-o", "json")
	if code != 0 {
		p.t.Fatalf("terminating: exit code %d\n%s", code, errw)
	}
	var list []struct {
		Metadata struct{ UID string }
		Running  []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		p.t.Fatal(err)
	}
	for _, item := range list {
		var ids []string
		for _, c := range item.Running {
			ids = append(ids, c.ID)
		}
		slices.Sort(ids)
		a.terminating = append(a.terminating, item.Metadata.UID+" "+strings.Join(ids, " "))
	}
	slices.Sort(a.orphans)
	slices.Sort(a.terminating)
	return a
}

// agreesOnOwnership asserts that orphans and terminating say what follows from the
// runtime's lists and the kubelet's /pods: a pod that the kubelet does not name is
// terminating while something of it runs, or while the kubelet has its directory;
// after that it is an orphan, until the kubelet removes it.
func (k *kubeletPlace) agreesOnOwnership() {
	k.t.Helper()
	var want, got answer
	eventually(k.t, "podctl agrees with the runtime and the kubelet", func() bool {
		want = answer{}
		named := map[string]bool{}
		for _, p := range k.kubelet.Pods(k.t) {
			named[string(p.UID)] = true
		}
		raw := rawPods(k.t, k.client)
		for uid, p := range raw {
			if named[uid] {
				continue
			}
			_, err := os.Lstat(filepath.Join(k.kubelet.Root, "pods", uid))
			switch {
			case p.alive():
				slices.Sort(p.running)
				want.terminating = append(want.terminating, uid+" "+strings.Join(p.running, " "))
			case errors.Is(err, os.ErrNotExist):
				want.orphans = append(want.orphans, uid+" not-ready")
			}
		}
		slices.Sort(want.orphans)
		slices.Sort(want.terminating)
		got = k.answers()
		return got.equal(want)
	}, func() string { return strings.Join(append(got.orphans, got.terminating...), "\n") })
	k.agreesWithCrictlsPods(k.client)
}

// preemption is what podctl preempt -o json prints.
type preemption struct {
	Sources []struct {
		Name string
		Pods int
	}
	Arrivals []struct {
		Admitted bool
		Usage    []struct {
			Resource v1.ResourceName
			Used     resource.Quantity
		}
	}
}

// used is what the pods on the node request of a resource, and how many they are, by
// preempt. A critical pod that does not fit makes preempt say so.
func (p *place) used(name v1.ResourceName) (used resource.Quantity, pods int) {
	p.t.Helper()
	file := p.path("critical.yaml")
	if err := os.WriteFile(file, []byte(requesting("4", pod("critical", server, criticalClass))), 0o600); err != nil {
		p.t.Fatal(err)
	}
	out, errw, _ := p.podctl("preempt", "--dry-run", "-f", file, "--allocatable", "cpu=3,memory=8Gi,pods=100", "-o", "json")
	var said preemption
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said.Arrivals) != 1 {
		p.t.Fatalf("preempt: %v\n%s%s", err, out, errw)
	}
	for _, s := range said.Sources {
		pods += s.Pods
	}
	for _, u := range said.Arrivals[0].Usage {
		if u.Resource == name {
			used = u.Used
		}
	}
	return used, pods
}

// agreesOnRequests asserts that preempt counts what the kubelet's pods request.
func (k *kubeletPlace) agreesOnRequests() {
	k.t.Helper()
	want, pods := resource.Quantity{}, 0
	for _, p := range k.kubelet.Pods(k.t) {
		pods++
		for _, c := range p.Spec.Containers {
			want.Add(*c.Resources.Requests.Cpu())
		}
	}
	if used, counted := k.used(v1.ResourceCPU); used.Cmp(want) != 0 || counted != pods {
		k.t.Errorf("preempt counts %d pods, %s cpu; the kubelet has %d, which request %s", counted, used.String(), pods, want.String())
	}
}

// What orphans, terminating and preempt say follows from the bare lists of the
// runtime and from what the agent desires.
func TestListsAgreeWithRuntime(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		l := a.planter()
		killed := a.start(a.marked("killed", `echo up >> /mark/killed; `+obedient, brief), "-")
		a.getsLines("killed", "up")
		killed.prints("c started")
		killed.signal(syscall.SIGKILL)
		killed.wait()
		agent := a.agent("--drain")
		a.put("web.yaml", requesting("100m", a.marking("web", "")))
		a.put("slow.yaml", requesting("200m", a.marked("slow", flushes("slow"), "terminationGracePeriodSeconds: 600")))
		a.wrote("web", "up")
		a.getsLines("slow", "up")
		l.plant("bare")
		stopped := l.plant("stopped")
		if err := l.c.Stop(t.Context(), stopped); err != nil {
			t.Fatal(err)
		}
		if used, pods := a.used(v1.ResourceCPU); used.MilliValue() != 300 || pods != 2 {
			t.Errorf("preempt counts %d pods, %s cpu, want the 2 of the agent, 300m", pods, used.String())
		}
		a.remove("slow.yaml")
		a.getsLines("slow", "up", "flushing")

		raw := rawPods(t, l.c)
		var want answer
		for uid, p := range raw {
			class := map[string]string{"killed": "abandoned", "bare": "runtime-only", "stopped": "not-ready"}[p.name]
			switch {
			case class != "" && p.alive() == (class == "not-ready"):
				t.Errorf("the runtime says that %s is alive: %v", p.name, p.alive())
			case class != "":
				want.orphans = append(want.orphans, uid+" "+class)
			case p.name == "slow":
				want.terminating = append(want.terminating, uid+" "+strings.Join(p.running, " "))
			}
		}
		slices.Sort(want.orphans)
		if got := a.answers(); len(raw) != 5 || !got.equal(want) {
			t.Errorf("podctl says\n%q\nof %d pods, the runtime\n%q", got, len(raw), want)
		}
		if used, pods := a.used(v1.ResourceCPU); used.MilliValue() != 100 || pods != 1 {
			t.Errorf("preempt counts %d pods, %s cpu, want the 1 that the agent desires, 100m", pods, used.String())
		}
		a.agreesWithCrictlsPods(l.c)
		a.letsEnd("slow")
		a.getsLines("slow", "up", "flushing", "flushed")
		a.does("orphans", "--kill", "--rm")
		agent.ends(syscall.SIGTERM, 0)
		a.remove("web.yaml")
	})
}
