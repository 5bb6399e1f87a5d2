package node

import (
	"testing"
	"time"
)

// What runs may be of the source that cannot be read: it keeps running, and another
// source's pods start. Once the source is read, what it does not want ends.
func TestPodsOfUnreadableSourceKeepRunning(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web, old := podYAML("web", "sleep 3600"), podYAML("old", "sleep 3600")
		a := w.podctl("agent", web, old)
		first := a.until("web", "running", running)
		a.until("old", "running", running)
		a.kill()
		w.partly = true
		b := w.podctl("agent", podYAML("new", "sleep 3600"))
		b.until("new", "running", running)
		b.until("old", "adopted", func(i Info) bool { return running(i) && i.Adopted })
		time.Sleep(time.Minute)
		second := b.until("web", "adopted", func(i Info) bool { return running(i) && i.Adopted })
		if first.Status.ContainerStatuses[0].ContainerID != second.Status.ContainerStatuses[0].ContainerID {
			t.Error("web was restarted")
		}
		b.want(web)
		time.Sleep(time.Minute)
		if infos := b.Pods(); len(infos) != 1 || !running(infos[0]) {
			t.Errorf("not web alone: %+v", infos)
		}
		if got := w.calls("StartContainer"); len(got) != 3 {
			t.Errorf("started %v", got)
		}
		b.drain()
		w.empty()
	})
}
