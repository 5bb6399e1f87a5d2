package main

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const copiedPod = `
apiVersion: v1
kind: Pod
metadata: {name: app, labels: {app: app}, annotations: {a: b}}
spec:
  restartPolicy: Never
  containers:
  - {name: app, image: busybox, command: [sleep, "600"], livenessProbe: {exec: {command: ["true"]}}}
`

// A copy of a pod runs beside it until it ends, whether its owner answers or has left
// only the manifest in the runtime.
func TestDebugRunsACopyOfAPod(t *testing.T) {
	for name, keep := range map[string]bool{"owner alive": false, "owner exited": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				flags := []string{"--wait", "complete"}
				if keep {
					flags = []string{"--wait", "ready", "--keep"}
				}
				owner := w.run(copiedPod, flags...)
				if keep {
					owner.ends(0, time.Second)
				}
				printed := w.start(nil, "debug", "app", "--copy-to", "app2", "--image", "busybox", "-c", "tools", "--set-image", "app=app:2", "-o", "yaml")
				printed.ends(0, time.Minute)
				printed.silent()
				var p v1.Pod
				if err := yaml.UnmarshalStrict([]byte(printed.out.String()), &p); err != nil {
					t.Fatal(err)
				}
				if p.Name != "app2" || p.UID != "" || p.Labels != nil || p.Annotations != nil || len(p.Spec.Containers) != 2 ||
					p.Spec.Containers[0].Image != "app:2" || p.Spec.Containers[0].LivenessProbe != nil || p.Spec.Containers[1].Name != "tools" {
					t.Errorf("the copy:\n%s", printed.out.String())
				}

				c := w.start(nil, "debug", "app", "--copy-to", "app2", "-c", "app", "--", "sleep", "5")
				time.Sleep(2 * time.Second)
				w.holds(2)
				c.ends(0, time.Minute)
				c.printed("default/app2", "app exited 0")
				if want := "in another terminal: podctl exec -it default/app2/app -- sh\n"; c.errw.String() != want {
					t.Errorf("stderr: %s", c.errw.String())
				}
				w.holds(1)

				c = w.start(nil, "debug", "app", "--copy-to", "app2", "--set-image", "*=app:3", "--keep-labels")
				time.Sleep(2 * time.Second)
				c.interrupt()
				c.ends(130, time.Minute)
				w.holds(1)
				if !keep {
					owner.interrupt()
					owner.ends(130, time.Minute)
				}
			})
		})
	}
}
