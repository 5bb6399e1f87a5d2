package cri

import "testing"

func TestStopSignalsAreKnownByVersion(t *testing.T) {
	for version, want := range map[Version]bool{
		{Name: "containerd", Version: "v1.7.35"}: false,
		{Name: "containerd", Version: "v2.2.0"}:  false,
		{Name: "containerd", Version: "v2.4.2"}:  true,
		{Name: "cri-o", Version: "1.33.1"}:       false,
		{Name: "cri-o", Version: "1.34.0"}:       true,
		{Name: "podctl-sim", Version: "0.1"}:     true,
	} {
		if got := version.StopSignals(); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
