package manifest

import (
	"strings"
	"testing"
)

const exportedPod = `
apiVersion: v1
kind: Pod
metadata: {name: web, uid: 0a7e3f1e-0000-4000-8000-000000000002, resourceVersion: "1", creationTimestamp: "2026-03-01T12:00:00Z"}
spec:
  nodeName: node-1
  initContainers:
  - {name: i, image: x, volumeMounts: [{name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}
  containers:
  - {name: c, image: x, volumeMounts: [{name: data, mountPath: /data}, {name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}
  serviceAccountName: default
  volumes:
  - {name: data, emptyDir: {}}
  - {name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: token}}]}}
status: {phase: Running}
`

func TestExportsOfSamePodHaveSameUID(t *testing.T) {
	load := func(text string) *Pod {
		set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		return set.Pods[0]
	}
	first := load(exportedPod)
	later := load(strings.NewReplacer(`resourceVersion: "1"`, `resourceVersion: "2"`, "phase: Running", "phase: Failed").Replace(exportedPod))
	if first.UID != later.UID || first.UID == "0a7e3f1e-0000-4000-8000-000000000002" {
		t.Errorf("UIDs %s and %s; want one of podctl's own", first.UID, later.UID)
	}
	if p := first.Spec; len(p.Volumes) != 1 || len(p.Containers[0].VolumeMounts) != 1 || len(p.InitContainers[0].VolumeMounts) != 0 || p.NodeName != "" {
		t.Errorf("spec %+v", p)
	}
	again, err := Decode(first.Document)
	if err != nil || again.UID != first.UID {
		t.Errorf("decoded again: %v, %v", again, err)
	}
}

func TestExportedPodsKeepClusterDefaults(t *testing.T) {
	set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(exportedPod), ForCluster: true})
	if err != nil || set.Pods[0].UID != "0a7e3f1e-0000-4000-8000-000000000002" {
		t.Errorf("%v, %v", set.Pods, err)
	}
}
