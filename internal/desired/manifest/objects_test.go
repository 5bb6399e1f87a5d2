package manifest

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"
)

func TestObjectsAreNormalized(t *testing.T) {
	set, err := Load(t.Context(), []string{"-"}, from(`
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: YQ==, b: Yg==}
stringData: {b: over, c: "new"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: prod}
data: {a: text}
binaryData: {b: AAE=}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: p}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	secret := set.Objects.Secret("default", "s")
	if secret == nil || secret.Type != v1.SecretTypeOpaque || secret.StringData != nil {
		t.Fatalf("got %v", secret)
	}
	want := map[string][]byte{"a": []byte("a"), "b": []byte("over"), "c": []byte("new")}
	if diff := cmp.Diff(want, secret.Data); diff != "" {
		t.Error(diff)
	}
	c := set.Objects.ConfigMap("prod", "c")
	if c == nil || c.Data["a"] != "text" || string(c.BinaryData["b"]) != "\x00\x01" {
		t.Errorf("got %v", c)
	}
	claim := set.Objects.Claim("default", "p")
	if claim == nil || claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode != v1.PersistentVolumeFilesystem {
		t.Errorf("not defaulted: %v", claim)
	}
}

// The data of an object are no part of a pod's identity: a changed password
// is no other pod.
func TestPodUIDIgnoresSecretData(t *testing.T) {
	var uids []string
	for _, value := range []string{"one", "two"} {
		set, err := Load(t.Context(), []string{"-"}, from(podNamed("a")+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: "+value+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		uids = append(uids, string(set.Pods[0].UID))
		if strings.Contains(string(set.Pods[0].Document), value) {
			t.Errorf("the pod's document holds the secret: %s", set.Pods[0].Document)
		}
	}
	if uids[0] != uids[1] {
		t.Errorf("got %v", uids)
	}
}

// Whatever is wrong with a Secret, no message tells its value.
func TestProblemsHideSecretValues(t *testing.T) {
	for _, value := range []string{"hunter2", "12345678", "0777", "1e33", "[hunter2]", "{deep: hunter2}", "true", "2026-01-02"} {
		for _, shape := range []string{
			"data: {a: %s}", "data: {a: [%s]}", "data: %s", "stringData: {a: %s}", "stringData: [%s]", "stringData: %s",
			"immutable: yes\nstringData: {a: %s, b: 1}", "type: kubernetes.io/tls\ndata: {tls.crt: %s}",
			"type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{\"auths\": {\"r\": \"%s\"}'}",
			"type: kubernetes.io/ssh-auth\nstringData: {ssh: '%s'}",
		} {
			text := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + strings.Replace(shape, "%s", value, 1) + "\n"
			set, err := Load(t.Context(), []string{"-"}, from(text))
			said := fmt.Sprint(err, set.Warnings)
			if strings.Contains(said, strings.Trim(value, "[]{}")) && value != "true" || strings.Contains(said, "hunter") {
				t.Errorf("%s\n%s", text, said)
			}
		}
	}
}
