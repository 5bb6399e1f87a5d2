package e2e

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live/record"
)

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

// A pod whose StopContainer and StopPodSandbox never return delays no other pod;
// podctl terminating names the layer and the next command; when the runtime
// answers again the pod terminates.
func TestHungStopDelaysNoOtherPod(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		a.proxied()
		a.put("stuck.yaml", a.lone("stuck", "", "terminationGracePeriodSeconds: 6"))
		a.put("web.yaml", a.lone("web", "1"))
		agent := a.agent("--drain")
		a.lived("stuck", "up")
		a.lived("web", "up1")
		stuck := a.about("stuck")
		lifted := make(chan struct{})
		a.proxy.Disturb(func(ctx context.Context, c record.Call) error {
			if strings.HasPrefix(c.Method, "Stop") && stuck.is(c) {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-lifted:
				}
			}
			return nil
		})
		a.remove("stuck.yaml")
		a.put("web.yaml", a.lone("web", "2"))
		a.lived("web", "up1", "down1", "up2")
		var out string
		eventually(t, "terminating names the layer", func() bool {
			out = a.does("terminating")
			return strings.Contains(lineOf(out, "default/stuck"), " runtime ")
		}, func() string { return out })
		if !strings.Contains(out, "StopContainer") || !strings.Contains(out, "hint: ") {
			t.Errorf("neither the call nor what to type next:\n%s", out)
		}
		a.lived("stuck", "up")
		close(lifted)
		a.lived("stuck", "up", "down")
		a.holds("web")
		agent.ends(syscall.SIGTERM, 0)
		a.lived("web", "up1", "down1", "up2", "down2")
	})
}
