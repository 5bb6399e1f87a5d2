package e2e

import (
	"fmt"
	"strings"
)

// processFaults: the pod's programs fail.
var processFaults = []fault{
	{
		pod: "crash", what: "the program exits", command: "starting", layer: "application", step: "restart", evidence: `exited 3`,
		manifest: func(_ *gallery, name string) string { return pod(name, "echo no configuration; exit 3", brief) },
	},
	{
		pod: "oom", what: "the program is killed for lack of memory as it starts", command: "starting", layer: "kernel", evidence: `(?i)oom|memory`,
		manifest: func(_ *gallery, name string) string {
			return with("resources: {limits: {memory: 16Mi}}", pod(name, "exec tail /dev/zero", brief))
		},
	},
	{
		pod: "oom-child", what: "a child of the program is killed for lack of memory, and the program exits", command: "starting", layer: "kernel", evidence: `(?i)oom|memory`,
		manifest: func(_ *gallery, name string) string {
			return with("resources: {limits: {memory: 16Mi}}", pod(name, "tail /dev/zero; exit 1", brief))
		},
	},
	{
		pod: "hook-fails", what: "a postStart hook fails", command: "starting", layer: "hook", step: "hook", evidence: `(?i)hook`,
		manifest: func(_ *gallery, name string) string {
			return with(`lifecycle: {postStart: {exec: {command: [sh, -c, "echo no leader >&2; exit 7"]}}}`, pod(name, server, brief))
		},
	},
	{
		pod: "hook-hangs", what: "a postStart hook does not end", command: "starting", layer: "hook", step: "hook", evidence: `postStart hook`,
		manifest: func(g *gallery, name string) string {
			return with("lifecycle: {postStart: "+g.hook(name)+"}", g.marked(name, server, brief))
		},
	},
	{
		pod: "startup-fails", what: "a startup probe fails", command: "starting", layer: "probe", step: "startup-probe", evidence: `(?i)startup probe`,
		manifest: func(_ *gallery, name string) string {
			return with(`startupProbe: {exec: {command: [sh, -c, "echo no schema; exit 1"]}, periodSeconds: 2, failureThreshold: 300}`, pod(name, server, brief))
		},
	},
	{
		pod: "never-ready", what: "a readiness probe fails", command: "starting", layer: "probe", step: "readiness", evidence: `(?i)readiness probe`,
		manifest: func(_ *gallery, name string) string {
			return with(`readinessProbe: {exec: {command: [sh, -c, "echo no replica; exit 1"]}, periodSeconds: 2}`, pod(name, server, brief))
		},
	},
	{
		pod: "liveness", what: "a liveness probe ends the program", command: "starting", layer: "probe", step: "restart", evidence: `liveness probe|for its probes`,
		manifest: func(_ *gallery, name string) string {
			return with(`livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}`, pod(name, server, brief))
		},
	},
	{
		pod: "init-fails", what: "an init container fails", command: "starting", layer: "application", step: "init", evidence: `exited 4`,
		manifest: func(_ *gallery, name string) string {
			return strings.Replace(pod(name, server, brief), "  containers:", "  initContainers:\n"+container("i", "echo no database; exit 4")+"  containers:", 1)
		},
	},
}

// hook is one that ends when the faults are mended.
func (g *gallery) hook(name string) string {
	g.mended(func() { g.mark(name) })
	return fmt.Sprintf(`{exec: {command: [sh, -c, "until test -e /mark/%s; do sleep 0.3; done"]}}`, name)
}
