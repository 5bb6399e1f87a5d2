package e2e

import (
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

// mostSteps bounds a walk: a pod's start, or its end, takes fewer calls.
const mostSteps = 40

// An agent is killed at the first, second, third … call about a pod that
// starts, when the runtime has answered and the agent has not learned that,
// until there is no further call; and then so at each call about one that
// ends. The next agent brings every pod to where it was to go: one life each,
// whatever was seen of it.
func TestAgentKilledAtEachCall(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		a.proxied()
		agent := a.agent("-o", "json")
		var up []string
		for n := 1; ; n++ {
			name := fmt.Sprintf("s%02d", n)
			yaml := a.walked(name)
			killedBefore := a.killAtCallAbout(agent, name, n)
			a.put(name+".yaml", yaml)
			up = append(up, name)
			if died := killedBefore(func() bool { return agent.said(name, "Ready") }); !died {
				break // there was no n-th call
			}
			agent = a.agent("-o", "json")
			agent.until("the pod is ready", func() bool { return agent.said(name, "Ready") })
			a.lived(name, "up")
			if n == mostSteps {
				t.Fatalf("a start takes more than %d calls", n)
			}
		}
		starts := len(up) - 1
		ends := 0
		for died := true; died; ends++ {
			if len(up) == 0 {
				up = []string{fmt.Sprintf("e%02d", ends)}
				a.put(up[0]+".yaml", a.walked(up[0]))
				a.lived(up[0], "up")
			}
			name := up[0]
			up = up[1:]
			killedBefore := a.killAtCallAbout(agent, name, ends+1)
			a.remove(name + ".yaml")
			gone := func() bool { return len(a.podDirs(name)) == 0 && !a.inRuntime(name) }
			if died = killedBefore(gone); died {
				agent = a.agent("-o", "json")
				agent.until("the pod is gone", gone)
			}
			a.lived(name, "up", "down")
			if hooks := a.marks(name + ".hook"); len(hooks) < 1 || len(hooks) > 2 {
				t.Errorf("step %d: the hook ran %d times", ends+1, len(hooks))
			}
			if ends == mostSteps {
				t.Fatalf("an end takes more than %d calls", ends)
			}
		}
		for _, name := range up {
			a.lived(name, "up") // whatever was killed beside it
			a.remove(name + ".yaml")
		}
		a.holds()
		if starts < 5 || ends < 6 {
			t.Errorf("walked %d steps of a start and %d of an end: are calls still counted?", starts, ends-1)
		}
		t.Logf("%d steps of a start, %d of an end", starts, ends-1)
		agent.ends(syscall.SIGTERM, 0)
	})
}

// walked is a pod with all that has to be made and taken away again.
func (a *agentPlace) walked(name string) string {
	yaml := a.lone(name, "")
	yaml = strings.Replace(yaml, "volumes: [", "volumes: [{name: memory, emptyDir: {medium: Memory}}, ", 1)
	return strings.Replace(yaml, "volumeMounts: [", fmt.Sprintf(`lifecycle: {preStop: {exec: {command: [sh, -c, "echo hook >> /mark/%s.hook"]}}}
    volumeMounts: [{name: memory, mountPath: /memory}, `, name), 1)
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
		agent.until("the agent is killed, or done", func() bool {
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

// said tells whether an event of the pod was printed with -o json.
func (p *process) said(pod, reason string) bool {
	p.t.Helper()
	out, _ := p.output()
	return slices.ContainsFunc(sofar(p.t, out), func(l line) bool { return l.Name == pod && l.Reason == reason })
}

// podDirs are the directories of pods of that name below --log-dir.
func (p *place) podDirs(name string) []string {
	p.t.Helper()
	return glob(p.t, p.path("logs")+"/default_"+name+"_*")
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
