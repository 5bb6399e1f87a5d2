package cri

import "testing"

func TestImageVolumesAreKnownByVersion(t *testing.T) {
	for version, want := range map[Version]bool{
		{Name: "containerd", Version: "1.6.20~ds1"}:  false,
		{Name: "containerd", Version: "v1.7.35"}:     false,
		{Name: "containerd", Version: "v2.0.5-k3s1"}: false,
		{Name: "containerd", Version: "v2.1.0"}:      true,
		{Name: "containerd", Version: "2.4.2"}:       true,
		{Name: "containerd", Version: "3.0.0"}:       true,
		{Name: "containerd", Version: "1a2b3c4.m"}:   false, // built without a version
		{Name: "containerd", Version: "2"}:           false,
		{Name: "cri-o", Version: "1.30.9"}:           false,
		{Name: "cri-o", Version: "1.31.0"}:           true,
		{Name: "podctl-sim", Version: "0.1"}:         true,
	} {
		if got := version.ImageVolumes(); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
