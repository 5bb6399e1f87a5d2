package e2e

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// What the node has for pods, by --capacity and --reserved, is what a container without
// a limit is told, by variables and volumes, and what a volume in memory may hold.
func TestCapacityBoundsContainersAndMemoryVolumes(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		manifest := mounting("job", "emptyDir: {medium: Memory}", `echo "variable $MEMORY"; echo "file $(cat /d/memory)"; df -k /v | tail -1 | while read f size r; do echo "volume $size"; done`)
		manifest = strings.Replace(manifest, "command:", "env: [{name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]\n    command:", 1)
		manifest = strings.Replace(manifest, "volumeMounts: [", "volumeMounts: [{name: d, mountPath: /d}, ", 1)
		manifest = strings.Replace(manifest, "volumes: [", "volumes: [{name: d, downwardAPI: {items: [{path: memory, resourceFieldRef: {containerName: c, resource: limits.memory}}]}}, ", 1)
		out, errw, code := p.run(manifest, "--capacity", "memory=96Mi", "--reserved", "memory=32Mi", "--logs", "-")
		for _, want := range []string{"| variable 67108864\n", "| file 67108864\n", "| volume 65536\n"} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("exit %d, want %q\n%s%s", code, want, out, errw)
			}
		}
	})
}
