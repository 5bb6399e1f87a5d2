package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
)

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dropDisabled does to a pod what the API server does before it stores it.
func dropDisabled(p *v1.Pod) (*v1.Pod, error) {
	internal, err := toInternal(p)
	if err != nil {
		return nil, err
	}
	podutil.DropDisabledPodFields(internal, nil)
	kept := &v1.Pod{TypeMeta: p.TypeMeta}
	return kept, corev1.Convert_core_Pod_To_v1_Pod(internal, kept, nil)
}

// from is standard input with this text.
func from(text string) LoadOptions { return LoadOptions{Stdin: strings.NewReader(text)} }
