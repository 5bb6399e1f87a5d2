package proc

import (
	"maps"
	"testing"
)

func TestFlags(t *testing.T) {
	got := Flags([]string{"shim", "-namespace", "k8s.io", "--id=5c", "-id", "other", "start", "-debug"})
	want := map[string]string{"namespace": "k8s.io", "id": "5c", "debug": ""}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOCIRuntimesByName(t *testing.T) {
	for name, want := range map[string]bool{"runc": true, "crun": true, "runc:[2:INIT]": true, "runcx": false, "bash": false, "": false} {
		if IsOCIRuntime(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}
