package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod/event"
)

// withPort is a pod with a host port.
func withPort(name string, port int) string {
	return strings.Replace(podYAML(name, "sleep 3600", "terminationGracePeriodSeconds: 1"),
		"command:", fmt.Sprintf("ports: [{containerPort: 80, hostPort: %d}], command:", port), 1)
}

// The network leads a host port to the pod of a dead podctl process, and to one that
// podctl did not create, for as long as it runs.
func TestHostPortsOfAbandonedPodsAreInUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		left := w.podctl("run-a", withPort("left", 8080))
		left.until("left", "running", running)
		left.kill()
		b := w.podctl("run-b")
		sandbox, err := render.Sandbox(desire(t, withPort("foreign", 9090))[0].Pod, render.SandboxInput{Node: b.opts.Facts})
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.client.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		b.want(withPort("first", 8080), withPort("second", 9090), withPort("third", 7070))
		for name, other := range map[string]string{
			"first":  "host port in use: default/left (created by podctl run-a) has port 8080/TCP",
			"second": "host port in use: default/foreign (created by a kubelet) has port 9090/TCP",
		} {
			i := b.until(name, "waiting", waits(lifecycle.HostPortInUse))
			if text := i.Rejected.Error(); text != other {
				t.Errorf("%s waits for %s: %s", name, other, text)
			}
		}
		b.until("third", "running", running)
		if err := b.client.RemovePodSandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		b.until("second", "running", running)
		b.want(withPort("left", 8080)) // adopted: the port is its own
		b.until("left", "running", func(i Info) bool { return running(i) && i.Adopted })
		b.drain()
		w.empty()
	})
}

// The status is the kubelet's; the port and the pod that has it stand beside it.
func TestPodRejectedForHostPortNamesItsHolder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", withPort("first", 8080))
		p.until("first", "running", running)
		p.want(withPort("first", 8080), withPort("second", 8080))
		i := p.until("second", "rejected", Info.Ended)
		const reason, message = "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
		if s := i.Status; s.Phase != v1.PodFailed || s.Reason != reason || s.Message != "Pod was rejected: "+message {
			t.Errorf("status %+v", s)
		}
		if text := i.Rejected.Error(); text != reason+": "+message+": default/first (of podctl agent) has port 8080/TCP" {
			t.Errorf("rejected: %s", text)
		}
		p.mu.Lock()
		n := slices.IndexFunc(p.events, func(ev event.Event) bool { return ev.Reason == reason })
		if n < 0 || p.events[n].Message != message || p.events[n].Text() != message+": default/first (of podctl agent) has port 8080/TCP" {
			t.Errorf("events %+v", p.events)
		}
		p.mu.Unlock()

		// podctl start has it admitted again, and says why it is not.
		err := p.Start(t.Context(), "default", "second")
		if notRunning, ok := errors.AsType[*NotRunningError](err); !ok || !strings.Contains(err.Error(), "default/first (of podctl agent) has port 8080/TCP") {
			t.Errorf("started: %v, %v", notRunning, err)
		}
		p.want(withPort("second", 8080))
		time.Sleep(10 * time.Second) // the first one ends
		p.until("second", "rejected still", Info.Ended)
		if err := p.Start(t.Context(), "default", "second"); err != nil {
			t.Error(err)
		}
		p.until("second", "running", running)
		p.drain()
		w.empty()
	})
}

// A process of the host that listens on a host port is named, unless the pod shares its network.
func TestHostPortSharedWithProcess(t *testing.T) {
	h := &hostPorts{listeners: func(protocol v1.Protocol, port int32) []string {
		if protocol == v1.ProtocolTCP && port == 8080 {
			return []string{"python3 (pid 812)"}
		}
		return nil
	}}
	p := desire(t, withPort("web", 8080))[0].Pod
	want := "python3 (pid 812) listens on host port 8080/TCP, and its connections go to this pod while that runs"
	if got := h.shared(p); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := h.shared(desire(t, withPort("web", 9090))[0].Pod); len(got) != 0 {
		t.Errorf("of another port: %q", got)
	}
	p.Spec.HostNetwork = true
	if got := h.shared(p); len(got) != 0 {
		t.Errorf("on the host's network: %q", got)
	}
}
