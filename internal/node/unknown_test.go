package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/poddir"
)

// foreign makes a pod that podctl did not create.
func (p *podctl) foreign(name string) {
	p.t.Helper()
	_, err := p.client.RunPodSandbox(p.t.Context(), &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "foreign-" + name},
	}, "")
	if err != nil {
		p.t.Fatal(err)
	}
}

// names are the pods that the runtime holds.
func (p *podctl) names() map[string]bool {
	p.t.Helper()
	pods, err := p.client.ListPods(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	names := map[string]bool{}
	for _, h := range pods {
		names[h.Name] = true
	}
	return names
}

// Unknown pods are left alone unless podctl is told to end them, and a living
// podctl's always; what a dead one left counts as unknown.
func TestUnknownPodsAreStoppedOnlyOnRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dead := w.podctl("run-dead", podYAML("left", "sleep 3600"))
		dead.until("left", "running", running)
		dead.kill()
		living := w.podctl("run-living", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		living.until("web", "running", running)
		living.foreign("other")
		living.foreign("taken")

		a := w.podctl("agent")
		time.Sleep(10 * time.Second)
		if got := a.names(); len(got) != 4 {
			t.Errorf("not told to, and ended some: %v are left", got)
		}
		a.kill()
		w.killUnknown = true
		b := w.podctl("agent", podYAML("taken", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		b.until("taken", "running in the place of the foreign one", running)
		time.Sleep(time.Minute)
		if got := b.names(); len(got) != 2 || !got["web"] || !got["taken"] {
			t.Errorf("left are %v, want web and taken", got)
		}
		living.until("web", "running on", running)
		living.drain()
		b.drain()
		w.empty()
	})
}

// What an agent left on the host when it was killed while it ended a pod goes
// with the next one; directories of others below the same root stay.
func TestOrphanedDirectoriesOfInstanceAreRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent")
		// Before the records: the agent looks at any time.
		logs := filepath.Join(w.root, "logs", "default_old_mine")
		if err := os.MkdirAll(logs, 0o750); err != nil {
			t.Fatal(err)
		}
		mine := poddir.Record{Owner: a.records.ownerTag(), Namespace: "default", Name: "old", StopRequested: time.Now()}
		other := mine
		other.Owner = "agent@another-runtime"
		for uid, rec := range map[string]poddir.Record{"mine": mine, "other": other, "unsigned": {StopRequested: time.Now()}} {
			if err := poddir.CreateRecord(filepath.Join(w.root, "pods", uid), rec); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		left, err := os.ReadDir(filepath.Join(w.root, "pods"))
		if err != nil || len(left) != 2 || left[0].Name() != "other" || left[1].Name() != "unsigned" {
			t.Errorf("left are %v %v", left, err)
		}
		if _, err := os.Stat(logs); err == nil {
			t.Error("its logs are left")
		}
		for _, dir := range left {
			if err := os.RemoveAll(filepath.Join(w.root, "pods", dir.Name())); err != nil {
				t.Fatal(err)
			}
		}
		a.drain()
		w.empty()
	})
}
