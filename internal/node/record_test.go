package node

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podctl/podctl/internal/node/poddir"
)

// A record's file says what is remembered, however many change it at once.
func TestRecordRoundTrip(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("web", "sleep 3600"))
		web := p.until("web", "running", running).Pod
		dir := p.opts.Facts.Dir(web.UID)
		for round := range 50 {
			var changing sync.WaitGroup
			for i := range 8 {
				changing.Go(func() {
					p.records.update(web.UID, func(r *poddir.Record) bool { r.Message = fmt.Sprint(round, i); return true })
				})
			}
			changing.Wait()
			p.pods.mu.Lock()
			want := p.pods.get(web.UID).record
			p.pods.mu.Unlock()
			if diff := cmp.Diff(want, poddir.ReadRecord(dir)); diff != "" {
				t.Fatal(diff)
			}
		}
		p.drain()
		w.empty()
	})
}
