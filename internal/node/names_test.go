package node

import (
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/podsync"
	"github.com/podctl/podctl/internal/probe"
)

// The last pod of a name goes while the next one comes: the name stays locked.
func TestNameStaysHeldFromOnePodToTheNext(t *testing.T) {
	dir := t.TempDir()
	locks, err := owner.Open(dir, "run-a")
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	n := &Node{
		desired: newDesired(nil),
		locks:   locks, log: slog.New(slog.DiscardHandler), sync: podsync.New(podsync.Options{}), probes: probe.New(probe.Options{}),
		claimed: map[string]bool{}, entries: map[types.UID]*entry{},
	}
	const name = "web_default"
	let := func(uid string) {
		if err := n.claim(name); err != nil {
			t.Error(err)
		}
		n.admit(&entry{want: wanted(uid, "web")})
		n.settleNames()
	}
	for range 2000 {
		let("u1")
		gone := make(chan struct{})
		go func() {
			n.drop("u1")
			close(gone)
		}()
		let("u2")
		<-gone
		if _, held, err := owner.Holder(dir, name); err != nil || !held {
			t.Fatalf("held: %v, %v", held, err)
		}
		n.drop("u2")
		if _, held, err := owner.Holder(dir, name); err != nil || held {
			t.Fatalf("still held: %v, %v", held, err)
		}
	}
}

// While the runtime does not answer, nothing starts, and names are not kept
// from others.
func TestNameOfAPodThatCannotStartYetIsGivenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a")
		w.sim.Crash()
		p.want(podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		time.Sleep(5 * time.Second)
		if _, held, err := owner.Holder(w.root+"/locks", "web_default"); err != nil || held {
			t.Errorf("held: %v, %v", held, err)
		}
		w.sim.Restart()
		p.until("web", "running", running)
		p.drain()
		w.empty()
	})
}
