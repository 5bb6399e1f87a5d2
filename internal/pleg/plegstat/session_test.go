package plegstat

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/cri"
)

func TestUnsharedErrorIsTrueOfEachVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.7.35":     "containerd v1.7.35 delivers each event to one subscriber only: podctl would take events from the kubelet",
		"1.6.20~ds1":  "containerd 1.6.20~ds1 has no events",
		"1a2b3c4-dev": "containerd 1a2b3c4-dev: it is not known whether every subscriber receives each event",
	} {
		err := &unsharedError{cri.Version{Name: "containerd", Version: version}}
		if err.Error() != want || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
