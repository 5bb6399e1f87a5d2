package manifest

import (
	"strings"
	"testing"
)

// InPlace is the API server's rule: of each change that has a request it says yes,
// of any other no.
func TestInPlace(t *testing.T) {
	const base = `
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {x: u}}
spec:
  activeDeadlineSeconds: 100
  tolerations: [{key: a, operator: Exists}]
  initContainers: [{name: i, image: x}]
  containers:
  - {name: c, image: x, command: [sleep], resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}
  ephemeralContainers: [{name: e, image: x}]
`
	for _, c := range []struct {
		what, from, to string
		inPlace        bool
	}{
		{"the same", "x: u", "x: u", true},
		{"a label", "x: u", "x: v", true},
		{"an annotation", "labels:", "annotations: {n: m}, labels:", true},
		{"a generation", "labels:", "generation: 2, labels:", true},
		{"an image", "name: c, image: x", "name: c, image: z", true},
		{"an image of an init container", "name: i, image: x", "name: i, image: z", true},
		{"a lower deadline", "Seconds: 100", "Seconds: 99", true},
		{"a higher deadline", "Seconds: 100", "Seconds: 101", false},
		{"no deadline", "activeDeadlineSeconds: 100\n", "restartPolicy: Always\n", false},
		{"one more toleration", "Exists}]", "Exists}, {operator: Exists}]", true},
		{"one toleration less", "tolerations: [{key: a, operator: Exists}]", "tolerations: []", false},
		{"one more ephemeral container", "{name: e, image: x}]", "{name: e, image: x}, {name: f, image: x}]", true},
		{"a changed ephemeral container", "{name: e, image: x}]", "{name: e, image: z}]", false},
		{"one ephemeral container less", "ephemeralContainers: [{name: e, image: x}]", "ephemeralContainers: []", false},
		{"a command", "command: [sleep]", "command: [cat]", false},
		{"more CPU time", "limits: {cpu: 200m}", "limits: {cpu: 300m}", true},
		{"a limit removed", ", limits: {cpu: 200m}", "", false},
		{"more of both", "requests: {cpu: 100m}, limits: {cpu: 200m}", "requests: {cpu: 100m, memory: 1Mi}, limits: {cpu: 100m, memory: 1Mi}", true},
		{"other storage", "limits: {cpu: 200m}", "limits: {cpu: 200m, ephemeral-storage: 1Gi}", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			load := func(text string) *Pod {
				set, err := Load(t.Context(), []string{"-"}, from(text))
				if err != nil {
					t.Fatal(err)
				}
				return set.Pods[0]
			}
			if !strings.Contains(base, c.from) {
				t.Fatal("nothing changes")
			}
			before, after := load(base), load(strings.Replace(base, c.from, c.to, 1))
			after.UID = before.UID
			if err := InPlace(before.Pod, after.Pod); (err == nil) != c.inPlace {
				t.Errorf("in place: %v", err)
			}
		})
	}
}
