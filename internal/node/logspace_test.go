package node

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
)

func TestFullLogDirectoryIsReportedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.logSpace.Store(1 << 30)
		a := w.podctl("agent")
		reported := func() (n int) {
			for _, reason := range a.reasons() {
				if reason == event.LogDirectoryFull {
					n++
				}
			}
			return n
		}
		for want, free := range []int64{1 << 30, 4096, 1 << 30, 4096} {
			w.logSpace.Store(free)
			time.Sleep(time.Minute)
			if got := reported(); got != (want+1)/2 {
				t.Errorf("%d bytes free: reported %d times", free, got)
			}
		}
		a.drain()
	})
}
