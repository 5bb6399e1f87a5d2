package relay

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
		w.sim.Delay("Status", "", 10*time.Second)
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
		w.sim.Delay("Version", "", 3*time.Millisecond)
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

func TestBoundaryOfFrames(t *testing.T) {
	settings, headers, continuation := "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x02\x01\x00\x00\x00\x00\x01ab", "\x00\x00\x01\x09\x04\x00\x00\x00\x01c"
	data := "\x00\x00\x03\x00\x00\x00\x00\x00\x01abc"
	for name, c := range map[string]struct {
		bytes string
		want  bool
	}{
		"nothing yet":           {"", false},
		"settings":              {settings, true},
		"part of a header":      {settings + data[:5], false},
		"part of a frame":       {settings + data[:11], false},
		"a frame":               {settings + data, true},
		"headers that continue": {settings + headers, false},
		"headers that end":      {settings + headers + continuation, true},
		"not HTTP/2":            {"HTTP/1.1 200 OK\r\n\r\n", false},
	} {
		var whole, single boundary
		whole.pass([]byte(c.bytes))
		for _, b := range []byte(c.bytes) {
			single.pass([]byte{b})
		}
		if whole.reached() != c.want || single.reached() != c.want {
			t.Errorf("%s: %v, byte by byte %v", name, whole.reached(), single.reached())
		}
	}
}
