package relay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestGoAwayLetsCallsEndAndNextOnesReconnect(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Status delay=10s")
		slow := make(chan error, 1)
		go func() {
			_, err := w.cri.Status(t.Context(), &runtimeapi.StatusRequest{})
			slow <- err
		}()
		synctest.Wait()
		w.relay.GoAway()
		synctest.Wait()
		for range 3 {
			if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
				t.Error(err)
			}
		}
		if n := w.relay.Connections(); n != 2 {
			t.Errorf("%d connections while a call is in flight on the first", n)
		}
		if err := <-slow; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		settle()
		if n := w.relay.Connections(); n != 1 {
			t.Errorf("%d connections after it", n)
		}
	})
}

// Calls that are made at any moment of a GOAWAY succeed.
func TestGoAwayWhileCallsAreMade(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=Version delay=3ms")
		end := time.Now().Add(time.Second)
		for range 8 {
			go func() {
				for time.Now().Before(end) {
					if _, err := w.cri.Version(t.Context(), &runtimeapi.VersionRequest{}); status.Code(err) != codes.OK {
						t.Error(err)
					}
				}
			}()
		}
		for time.Now().Before(end) {
			w.relay.GoAway()
			time.Sleep(7 * time.Millisecond)
		}
		settle()
	})
}
