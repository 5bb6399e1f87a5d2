package debugger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const original = `
metadata:
  name: web
  namespace: shop
  uid: "1"
  labels: {app: web}
  annotations: {a: b}
  ownerReferences: [{kind: Node, name: n}]
spec:
  nodeName: n
  schedulerName: default-scheduler
  enableServiceLinks: true
  hostname: h
  initContainers: [{name: init, image: setup}]
  containers:
  - {name: app, image: app:1, args: [serve], livenessProbe: {periodSeconds: 1}, readinessProbe: {periodSeconds: 1}, startupProbe: {periodSeconds: 1}}
  - {name: side, image: side:1, command: [side]}
  ephemeralContainers: [{name: earlier, image: tools}]
status: {phase: Running}
`

func TestCopyAppliesOptions(t *testing.T) {
	for _, c := range []struct {
		rule string
		o    CopyOptions
		want string
	}{
		{"without identity, node, annotations, probes; with shared processes", CopyOptions{}, `
metadata: {name: copy, namespace: shop}
spec:
  hostname: h
  shareProcessNamespace: true
  initContainers: [{name: init, image: setup}]
  containers: [{name: app, image: app:1, args: [serve]}, {name: side, image: side:1, command: [side]}]
`},
		{"labels are kept and processes separate on request", CopyOptions{KeepLabels: true, ShareProcesses: new(false)}, `
metadata: {name: copy, namespace: shop, labels: {app: web}}
spec:
  hostname: h
  shareProcessNamespace: false
  initContainers: [{name: init, image: setup}]
  containers: [{name: app, image: app:1, args: [serve]}, {name: side, image: side:1, command: [side]}]
`},
		{"a new container is added", CopyOptions{Container: "tools", Image: "busybox", Command: []string{"sleep", "9"}}, `
metadata: {name: copy, namespace: shop}
spec:
  hostname: h
  shareProcessNamespace: true
  initContainers: [{name: init, image: setup}]
  containers:
  - {name: app, image: app:1, args: [serve]}
  - {name: side, image: side:1, command: [side]}
  - {name: tools, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "9"], securityContext: {capabilities: {add: [SYS_PTRACE]}}}
`},
		{"a command replaces command and arguments", CopyOptions{Container: "app", Command: []string{"sh"}}, `
metadata: {name: copy, namespace: shop}
spec:
  hostname: h
  shareProcessNamespace: true
  initContainers: [{name: init, image: setup}]
  containers:
  - {name: app, image: app:1, command: [sh], securityContext: {capabilities: {add: [SYS_PTRACE]}}}
  - {name: side, image: side:1, command: [side]}
`},
		{"images: a name wins over *", CopyOptions{Images: map[string]string{"*": "all:2", "side": "side:2"}}, `
metadata: {name: copy, namespace: shop}
spec:
  hostname: h
  shareProcessNamespace: true
  initContainers: [{name: init, image: setup}]
  containers: [{name: app, image: "all:2", args: [serve]}, {name: side, image: "side:2", command: [side]}]
`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p, before := parse(t, original), parse(t, original)
			c.o.Name = "copy"
			got, err := Copy(p, c.o)
			if err != nil {
				t.Fatal(err)
			}
			want := parse(t, c.want)
			want.APIVersion, want.Kind = "v1", "Pod"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("the pod itself: %s", diff)
			}
		})
	}
}

func TestCopyWithHostPIDSharesNoProcesses(t *testing.T) {
	got, err := Copy(parse(t, "spec: {hostPID: true}"), CopyOptions{Name: "copy"})
	if err != nil || got.Spec.ShareProcessNamespace != nil {
		t.Errorf("%v, %v", got.Spec.ShareProcessNamespace, err)
	}
}

func TestCopyErrorNamesUnknownContainer(t *testing.T) {
	for want, o := range map[string]CopyOptions{
		`copy pod: it has no container "nosuch"`:                                   {Images: map[string]string{"nosuch": "x"}},
		`copy pod: it has no container "nosuch", and there is no image to add one`: {Container: "nosuch", Command: []string{"sh"}},
	} {
		if _, err := Copy(parse(t, original), o); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func parse(t *testing.T, text string) *v1.Pod {
	t.Helper()
	p := &v1.Pod{}
	if err := yaml.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}
