package main

import (
	"slices"
	"testing"
)

func TestReferencesIn(t *testing.T) {
	for text, want := range map[string][]reference{
		"keeps it (SyncPod in pkg/kubelet/kubelet.go and pkg/kubelet/pod_workers.go).": {
			{"pkg/kubelet/kubelet.go", "SyncPod", "x:1"}, {"pkg/kubelet/pod_workers.go", "", "x:1"}},
		"(ContainerGCPeriod, ImageGCPeriod in pkg/kubelet/kubelet.go)": {
			{"pkg/kubelet/kubelet.go", "ContainerGCPeriod", "x:1"}, {"pkg/kubelet/kubelet.go", "ImageGCPeriod", "x:1"}},
		"It is podctl's `pkg/kubelet/pod_workers.go` (v1.37.2)": {{"pkg/kubelet/pod_workers.go", "", "x:1"}},
		"the rest is in pkg/kubelet/cm/helpers_linux.go":        {{"pkg/kubelet/cm/helpers_linux.go", "", "x:1"}},
		"see cmd/podctl/main.go and internal/pod/status.go":     nil,
		"(k8s.io/kubelet/pkg/types/labels.go)":                  nil,
	} {
		if got := referencesIn(text, "x:1"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// What podctl names is there in the version that go.mod requires.
func TestTextOfReference(t *testing.T) {
	tree, err := sourceOf("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, name string
		there      bool
	}{
		{"pkg/kubelet/pod_workers.go", "managePodLoop", false},
		{"pkg/kubelet/pod_workers.go", "podWorkerLoop", true},
		{"pkg/kubelet/pod_workers.go", "waitingToStartStaticPodsByFullname", true}, // a field
		{"pkg/kubelet/kubelet_pods.go", "convertContainerStatusResources", true},   // a function in a function
		{"pkg/kubelet/none.go", "", false},
	} {
		if text, err := tree.text(reference{File: c.file, Name: c.name}); (err == nil) != c.there || (text == "") == c.there {
			t.Errorf("%s %s: %d bytes, %v", c.file, c.name, len(text), err)
		}
	}
}
