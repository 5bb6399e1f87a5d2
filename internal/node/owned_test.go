package node

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// A pod of a podctl process that reaches the runtime by another endpoint is neither
// adopted nor stopped, also where its locks are not those of this process.
func TestPodOwnedByAnotherEndpointIsNeitherAdoptedNorStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const v1, v2 = "sleep 3600", "sleep 7200"
		grace := "terminationGracePeriodSeconds: 1"
		a := w.podctl("agent", podYAML("web", v1, grace), fixUID("api", podYAML("api", v1, grace)))
		a.until("web", "running", running)
		a.until("api", "running", running)
		var lives, unreadable atomic.Bool
		lives.Store(true)
		w.locks, w.owners = "alias", func(context.Context) (Owners, error) {
			if unreadable.Load() {
				return nil, errors.New("permission denied")
			}
			return func(*pod.Pod) (owner.Holder, bool) {
				return owner.Holder{Name: "agent", Runtime: owner.Runtime{Endpoint: "unix:///run/a.sock"}}, lives.Load()
			}, nil
		}
		// The same name with another UID, and the same UID with another document.
		b := w.podctl("agent", podYAML("web", v2, grace), fixUID("api", podYAML("api", v2, grace)))
		for _, name := range []string{"web", "api"} {
			i := b.until(name, "waiting", waits(lifecycle.NameHeld))
			if text := i.Refused().Error(); !strings.Contains(text, `"agent", which uses this runtime by unix:///run/a.sock`) {
				t.Errorf("%s waits without naming the owner: %s", name, text)
			}
		}
		unreadable.Store(true)
		time.Sleep(30 * time.Second)
		if got := w.calls("StopContainer", "RunPodSandbox"); len(got) != 2 {
			t.Errorf("calls: %v", got)
		}
		a.kill()
		unreadable.Store(false)
		lives.Store(false)
		b.until("web", "replaced", running)
		b.drain()
	})
}
