package manifest

import (
	"strings"
	"testing"
)

const tokenPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: c, image: x, volumeMounts: [{name: t, mountPath: /t}]}
  volumes:
  - name: t
    projected:
      sources:
      - serviceAccountToken: {path: token, audience: vault}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
      - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
      - {configMap: {name: other}, bad: 1}
`

func loadAccounts(t *testing.T, text string, a ServiceAccounts) (*Set, error) {
	t.Helper()
	return Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(text), ServiceAccounts: a})
}

func TestServiceAccountTokens(t *testing.T) {
	valid := strings.Replace(tokenPod, ", bad: 1", "", 1) + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"
	if _, err := loadAccounts(t, valid, AccountsRefused); err == nil || !strings.Contains(err.Error(), "--service-account=ignore") {
		t.Errorf("refused: %v", err)
	}

	set, err := loadAccounts(t, valid, AccountsIgnored)
	if err != nil || len(set.Warnings) != 1 || set.Warnings[0].Line != 12 {
		t.Fatalf("ignored: %v, %v", set.Warnings, err)
	}
	sources := set.Pods[0].Spec.Volumes[0].Projected.Sources
	if len(sources) != 3 || sources[0].ConfigMap.Optional == nil || !*sources[0].ConfigMap.Optional || sources[2].ConfigMap.Optional != nil {
		t.Errorf("ignored: sources %+v", sources)
	}
	again, err := Decode(set.Pods[0].Document)
	if err != nil || again.UID != set.Pods[0].UID || len(again.Spec.Volumes[0].Projected.Sources) != 3 {
		t.Errorf("ignored, decoded again: %v, %v", again, err)
	}

	set, err = loadAccounts(t, valid, AccountsProvided)
	if err != nil || len(set.Warnings) != 0 || len(set.Pods[0].Spec.Volumes[0].Projected.Sources) != 4 {
		t.Fatalf("provided: %v, %v", set.Warnings, err)
	}
	for _, u := range set.Pods[0].Uses() {
		if u.Support != Honoured {
			t.Errorf("provided: %s is %s", u.Path, u.Support)
		}
	}
}

func TestLinesAfterDroppedItem(t *testing.T) {
	_, err := loadAccounts(t, tokenPod, AccountsIgnored)
	if err == nil || !strings.Contains(err.Error(), "stdin:15: pod \"web\": spec.volumes[0].projected.sources[3].bad: ") {
		t.Errorf("the unknown field of line 15: %v", err)
	}
}

func TestTokenVolumeWithoutToken(t *testing.T) {
	set, err := loadAccounts(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: x, volumeMounts: [{name: t, mountPath: /t}]}]
      volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: token}}]}}]
`, AccountsIgnored)
	if err != nil || set.Pods[0].Spec.Volumes[0].Projected == nil || len(set.Pods[0].Spec.Volumes[0].Projected.Sources) != 0 {
		t.Errorf("%v", err)
	}
}

func TestExportedPodTokenVolume(t *testing.T) {
	set, err := loadAccounts(t, exportedPod, AccountsProvided)
	if err != nil || len(set.Pods[0].Spec.Volumes) != 2 || len(set.Pods[0].Spec.InitContainers[0].VolumeMounts) != 1 {
		t.Errorf("%+v, %v", set.Pods[0].Spec.Volumes, err)
	}
}
