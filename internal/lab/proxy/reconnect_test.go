package proxy

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestRuntimeThatReturnsIsFoundAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.sim.Crash()
		for range 100 {
			_, err := w.cri.Version(w.Context(), &runtimeapi.VersionRequest{})
			w.wants(err, codes.Unavailable)
			time.Sleep(3 * time.Second)
		}
		w.sim.Restart()
		time.Sleep(2 * time.Second)
		_, err := w.cri.Version(w.Context(), &runtimeapi.VersionRequest{})
		w.wants(err, codes.OK)
	})
}
