package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/test/live/record"
)

// mostSteps bounds a walk: a pod's start, or its termination, takes fewer calls.
const mostSteps = 40

// An agent is killed at the first, second, third … call about a pod that
// starts, when the runtime has answered and the agent has not learned that,
// until there is no further call; then so at each call about one that is
// replaced, and about one that terminates. The next agent brings every pod to its
// desired state: one life for each manifest, one after the other.
func TestAgentKilledAtEachCall(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		a.proxied()
		w := &walk{agentPlace: a, process: a.agent("-o", "json")}
		var one, two []string // that run by the first manifest, and by the second
		w.steps("start", 5, func(n int) (killed bool) {
			one = append(one, w.fresh())
			name := one[len(one)-1]
			return w.step(n, name, func() { w.put(name+".yaml", w.walked(name, "1")) }, w.runs, "up1")
		})
		w.steps("replacement", 10, func(n int) (killed bool) {
			name := w.first(&one)
			two = append(two, name)
			return w.step(n, name, func() { w.put(name+".yaml", w.walked(name, "2")) }, w.runs, "up1", "down1", "up2")
		})
		w.steps("end", 6, func(n int) (killed bool) {
			name := w.first(&two)
			lines := w.marks(name)
			lines = append(lines, "down"+strings.TrimPrefix(lines[len(lines)-1], "up"))
			killed = w.step(n, name, func() { w.remove(name + ".yaml") }, w.gone, lines...)
			lives := len(lines) / 2
			if hooks := len(w.marks(name + ".hook")); hooks < lives || hooks > 2*lives {
				t.Errorf("end, step %d: the hook ran %d times in %d lives", n, hooks, lives)
			}
			return killed
		})
		w.removeAll()
		w.within("all pods are gone", w.empty)
		w.process.ends(syscall.SIGTERM, 0)
	})
}

// walk is an agent that is killed again and again.
type walk struct {
	*agentPlace
	process *process
	pods    int
}

// steps takes the first, second, third … step until one is not killed any
// more, which are at least so many.
func (w *walk) steps(of string, least int, step func(n int) (killed bool)) {
	w.t.Helper()
	n := 1
	for ; step(n); n++ {
		if n == mostSteps {
			w.t.Fatalf("%s: more than %d calls", of, n)
		}
	}
	if w.t.Logf("%s: killed at each of %d calls", of, n-1); n <= least {
		w.t.Errorf("%s: only %d calls: are they still told?", of, n-1)
	}
}

// step does something to a pod, with the agent killed at the n-th call about
// it, and started again. Then everything is as desired, and containers have
// written these lines. It reports whether there was an n-th call before that.
func (w *walk) step(n int, name string, do func(), is func(name string, before int) bool, lines ...string) (killed bool) {
	w.t.Helper()
	before := w.process.says(name, "Ready")
	killedBefore := w.killAtCallAbout(w.process, name, n)
	do()
	done := func() bool { return is(name, before) && slices.Equal(w.marks(name), lines) }
	if killed = killedBefore(done); killed {
		before, w.process = 0, w.agent("-o", "json")
		w.process.until(fmt.Sprintf("%s, step %d, is done with %q", name, n, lines), done)
	}
	w.lived(name, lines...)
	return killed
}

func (w *walk) runs(name string, before int) bool { return w.process.says(name, "Ready") > before }

func (w *walk) gone(name string, _ int) bool {
	return len(glob(w.t, w.path("logs")+"/default_"+name+"_*")) == 0 && !w.inRuntime(name)
}

// fresh is the name of another pod.
func (w *walk) fresh() string {
	w.pods++
	return fmt.Sprintf("s%02d", w.pods)
}

// first takes the first pod of a queue; of an empty one, a new pod that runs
// by the manifest before the one that it is about to have.
func (w *walk) first(queue *[]string) string {
	w.t.Helper()
	if len(*queue) == 0 {
		name := w.fresh()
		w.put(name+".yaml", w.walked(name, "1"))
		w.lived(name, "up1")
		return name
	}
	name := (*queue)[0]
	*queue = (*queue)[1:]
	return name
}

// walked is a pod with everything that must be created and removed again.
func (a *agentPlace) walked(name, version string) string {
	yaml := a.lone(name, version)
	yaml = strings.Replace(yaml, "volumes: [", "volumes: [{name: memory, emptyDir: {medium: Memory}}, ", 1)
	return strings.Replace(yaml, "volumeMounts: [", fmt.Sprintf(`lifecycle: {preStop: {exec: {command: [sh, -c, "echo hook >> /mark/%s.hook"]}}}
    volumeMounts: [{name: memory, mountPath: /memory}, `, name), 1)
}

// about selects the calls that concern a pod: those that name it, its UID, or
// a sandbox or container of it.
type about struct {
	mu  sync.Mutex
	ids [][]byte
}

func (a *agentPlace) about(name string) *about {
	a.t.Helper()
	b := &about{}
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range pods {
		if p.Name != name {
			continue
		}
		b.ids = append(b.ids, []byte(p.UID))
		for _, s := range p.Sandboxes {
			b.ids = append(b.ids, []byte(s.ID))
		}
		for _, c := range p.Containers {
			b.ids = append(b.ids, []byte(c.ID))
		}
	}
	return b
}

func (b *about) is(c record.Call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.ids, func(id []byte) bool { return bytes.Contains(c.Request, id) })
}

// killAtCallAbout has the agent killed when the n-th call from now on that is
// about the pod has been answered. What it returns waits until that has
// happened, or the condition holds: then it will not happen any more.
func (a *agentPlace) killAtCallAbout(agent *process, name string, n int) (killedBefore func(is func() bool) bool) {
	a.t.Helper()
	its := a.about(name)
	var mu sync.Mutex
	var calls int
	var killed, spared bool
	a.proxy.Watch(func(c record.Call) { its.learn(name, c) }, func(c record.Call) {
		its.learn(name, c)
		mu.Lock()
		defer mu.Unlock()
		if !its.is(c) || spared {
			return
		}
		if calls++; calls == n {
			_ = agent.cmd.Process.Kill()
			<-agent.done
			killed = true
		}
	})
	return func(is func() bool) bool {
		a.t.Helper()
		agent.until(fmt.Sprintf("the agent is killed at call %d about %s, or done", n, name), func() bool {
			done := is()
			mu.Lock()
			defer mu.Unlock()
			spared = done
			return killed || done
		})
		return killed
	}
}

// learn takes the pod's UID and ids from the calls that make it.
func (b *about) learn(name string, c record.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add := func(id string) {
		if id != "" && !slices.ContainsFunc(b.ids, func(known []byte) bool { return string(known) == id }) {
			b.ids = append(b.ids, []byte(id))
		}
	}
	switch c.Method {
	case "RunPodSandbox":
		var req runtimeapi.RunPodSandboxRequest
		var res runtimeapi.RunPodSandboxResponse
		if proto.Unmarshal(c.Request, &req) == nil && req.GetConfig().GetMetadata().GetName() == name {
			add(req.Config.Metadata.Uid)
			if proto.Unmarshal(c.Answer, &res) == nil {
				add(res.PodSandboxId)
			}
		}
	case "CreateContainer":
		var req runtimeapi.CreateContainerRequest
		var res runtimeapi.CreateContainerResponse
		if proto.Unmarshal(c.Request, &req) == nil && req.GetSandboxConfig().GetMetadata().GetName() == name && proto.Unmarshal(c.Answer, &res) == nil {
			add(res.ContainerId)
		}
	}
}

// until waits for a condition; what the process printed explains why not.
func (p *process) until(what string, is func() bool) {
	p.t.Helper()
	eventually(p.t, what, is, func() string { out, errw := p.output(); return out + errw })
}

// says is how many events of the pod with that reason were printed with -o
// json.
func (p *process) says(pod, reason string) int {
	p.t.Helper()
	out, _ := p.output()
	n := 0
	for _, l := range sofar(p.t, out) {
		if l.Name == pod && l.Reason == reason {
			n++
		}
	}
	return n
}

func (a *agentPlace) inRuntime(name string) bool {
	a.t.Helper()
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	for _, p := range pods {
		if p.Name == name {
			return true
		}
	}
	return false
}
