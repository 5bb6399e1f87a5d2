package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bound is a pod as the API server has it.
func bound() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1", ResourceVersion: "7", Generation: 2, Labels: map[string]string{"app": "web"}},
		Spec: v1.PodSpec{
			RuntimeClassName: new("fast"),
			Containers:       []v1.Container{{Name: "c", Env: []v1.EnvVar{{Name: "OWN", Value: "1"}, {Name: "A_PORT", Value: "mine"}}}},
			Volumes: []v1.Volume{{Name: "account", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
				{DownwardAPI: &v1.DownwardAPIProjection{}},
			}}}}},
		},
	}
}

func TestPodDocumentHasWhatOnlyAClusterKnows(t *testing.T) {
	p := bound()
	f := fixed{services: []v1.EnvVar{{Name: "A_PORT", Value: "80"}, {Name: "B_PORT", Value: "81"}}, handler: new("kata")}
	doc := podDocument(p, f)
	if diff := cmp.Diff(bound(), p); diff != "" {
		t.Errorf("the pod of the API server was changed:\n%s", diff)
	}
	spec := doc["spec"].(v1.PodSpec)
	want := []v1.EnvVar{{Name: "B_PORT", Value: "81"}, {Name: "OWN", Value: "1"}, {Name: "A_PORT", Value: "mine"}}
	if diff := cmp.Diff(want, spec.Containers[0].Env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if *spec.RuntimeClassName != "kata" {
		t.Errorf("runtime class %q, want the handler kata", *spec.RuntimeClassName)
	}
	secret := spec.Volumes[0].Projected.Sources[0].Secret
	if secret == nil || secret.Name != "token-0-0-u1" || secret.Items[0].Path != "token" {
		t.Errorf("the token's source is %+v", secret)
	}
	if m := doc["metadata"].(metav1.ObjectMeta); m.ResourceVersion != "" || m.Generation != 2 || m.UID != "u1" {
		t.Errorf("metadata %+v", m) // with a resourceVersion podctl would give it another UID
	}
}

func TestDirectoryHoldsTheDocumentsAndNothingElse(t *testing.T) {
	d := directory{path: t.TempDir()}
	pod := podDocument(bound(), fixed{})
	config := configMapDocument(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}, Data: map[string]string{"k": "v"}})
	for _, documents := range [][]document{{pod, config}, {config, config}, {}} {
		if err := d.update(documents); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, doc := range documents {
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			want[doc.file()] = string(text)
		}
		entries, err := os.ReadDir(d.path)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(d.path, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got[e.Name()] = string(text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}
