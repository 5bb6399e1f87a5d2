package cri

import "testing"

// TestBroadcastsEvents: only containerd from 2.0 on, and runtimes that are not
// containerd.
func TestBroadcastsEvents(t *testing.T) {
	for version, want := range map[Version]bool{
		{Name: "containerd", Version: "1.6.20~ds1"}:  false,
		{Name: "containerd", Version: "v1.7.35"}:     false,
		{Name: "containerd", Version: "1.7.11-k3s2"}: false,
		{Name: "containerd", Version: "v2.0.5-k3s1"}: true,
		{Name: "containerd", Version: "2.4.2"}:       true,
		{Name: "containerd", Version: "10.0.0"}:      true,
		{Name: "containerd", Version: "1a2b3c4.m"}:   false, // built without a version
		{Name: "containerd", Version: ""}:            false,
		{Name: "cri-o", Version: "1.34.0"}:           true,
		{Name: "podctl-sim", Version: "1.7.0"}:       true,
	} {
		if got := version.BroadcastsEvents(); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
