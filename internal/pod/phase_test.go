package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestIsTerminal(t *testing.T) {
	want := map[v1.PodPhase]bool{v1.PodSucceeded: true, v1.PodFailed: true, v1.PodPending: false, v1.PodRunning: false, v1.PodUnknown: false, "": false}
	for phase, terminal := range want {
		if IsTerminal(phase) != terminal {
			t.Errorf("%q: %v", phase, !terminal)
		}
	}
}
