package node

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

const sysctlPod = `
apiVersion: v1
kind: Pod
metadata: {name: tuned}
spec:
  securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}
  containers: [{name: c, image: app, command: [sleep, "5"]}]
`

// A pod that is not admitted has failed, with the kubelet's reason and words,
// and nothing of it comes to the runtime. It is refused for good; its name is
// not.
func TestRejectedPodHasFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("a", sysctlPod)
		time.Sleep(5 * time.Second)
		infos := p.Pods()
		if len(infos) != 1 || !infos[0].Ended() || infos[0].Succeeded() {
			t.Fatalf("pods %+v", infos)
		}
		s := infos[0].Status
		if s.Phase != v1.PodFailed || s.Reason != "SysctlForbidden" || s.QOSClass != v1.PodQOSBestEffort ||
			s.Message != `Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted` {
			t.Errorf("status %+v", s)
		}
		p.mu.Lock()
		for _, ev := range p.events {
			if ev.Reason != "SysctlForbidden" || !ev.Warning || ev.Message != `forbidden sysctl: "kernel.msgmax" not allowlisted` || ev.Phase != v1.PodFailed {
				t.Errorf("event %+v", ev)
			}
		}
		if len(p.events) != 1 {
			t.Errorf("%d events", len(p.events))
		}
		p.mu.Unlock()
		for _, call := range w.sim.Calls() {
			if strings.HasPrefix(call.Method, "Run") || strings.HasPrefix(call.Method, "Create") {
				t.Errorf("call %s", call.Method)
			}
		}
		p.want(strings.Replace(sysctlPod, "kernel.msgmax", "net.ipv4.tcp_syncookies", 1))
		time.Sleep(4 * time.Second)
		if infos := p.Pods(); len(infos) != 1 || infos[0].Status.Phase != v1.PodRunning {
			t.Errorf("a pod of the same name: %+v", infos)
		}
		p.drain()
	})
}

func TestPodOfAnotherOSIsRejected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("a", strings.Replace(podYAML("w", "sleep 5"), "spec:", "spec:\n  os: {name: windows}", 1))
		i := p.until("w", "rejected", Info.Ended)
		if i.Status.Phase != v1.PodFailed || i.Status.Reason != "PodOSNotSupported" ||
			i.Status.Message != "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS" {
			t.Errorf("status %+v", i.Status)
		}
		p.drain()
		w.empty()
	})
}

// A runtime class needs no handler to be admitted: the runtime refuses the
// sandbox, and the pod waits for the handler.
func TestPodWithUnknownRuntimeHandlerIsRetried(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("a", podYAML("classy", "sleep 5", "runtimeClassName: kata"))
		time.Sleep(time.Minute)
		if infos := p.Pods(); len(infos) != 1 || infos[0].Ended() || infos[0].Status.Phase != v1.PodPending {
			t.Errorf("pods %+v; want one that is Pending", infos)
		}
		if n := len(w.sim.Calls("RunPodSandbox")); n < 3 {
			t.Errorf("%d tries of the sandbox in a minute; want retries", n)
		}
		if messages := p.messages(event.FailedCreatePodSandBox); len(messages) == 0 || !strings.HasPrefix(messages[0], "Failed to create pod sandbox: ") {
			t.Errorf("events %v, messages %q", p.reasons(), messages)
		}
		p.drain()
		w.empty()
	})
}
