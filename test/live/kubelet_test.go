package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const staticPod = `
apiVersion: v1
kind: Pod
metadata: {name: sleeper}
spec:
  volumes: [{name: memory, emptyDir: {medium: Memory}}]
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sleep, "876543"]
    volumeMounts: [{name: memory, mountPath: /memory}]
`

// settings are those of the machine that a kubelet changes.
func settings(t *testing.T) string {
	t.Helper()
	var all []string
	for _, name := range []string{"vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"} {
		data, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, name+"="+strings.TrimSpace(string(data)))
	}
	return strings.Join(all, " ")
}

func TestKubeletRunsStaticPodsAndLeavesNothing(t *testing.T) {
	skipUnlessHost(t)
	before := settings(t)
	others := len(glob("/run/podctl-dev/*/kubelet")) > 0 // they share these settings
	k := StartKubelet(t)
	k.WriteStatic(t, "sleeper.yaml", staticPod)
	k.Runs(t, "sleeper")
	k.Kill(t)
	if found := processesNaming("876543"); len(found) != 1 {
		t.Errorf("processes %v outlive the kubelet, want one", found)
	}
	k.Start(t)
	k.Runs(t, "sleeper")
	rt := k.Runtime
	rt.Down(t)
	if found := processesNaming("876543"); len(found) > 0 {
		t.Errorf("left over: processes %v", found)
	}
	for _, left := range append(rt.Traces(), glob(rt.run, rt.lib, "/sys/fs/cgroup/kubelet-"+rt.Name, "/sys/fs/cgroup/*/kubelet-"+rt.Name)...) {
		t.Errorf("left over: %s", left)
	}
	if after := settings(t); after != before && !others {
		t.Errorf("settings of the machine: %s, were %s", after, before)
	}
}
