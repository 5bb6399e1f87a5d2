package node

import (
	"strconv"
	"strings"
	"testing"
)

// What the judge knows containers by: the name of one that is to run once, that of a
// sidecar, and the image of one that ends only when it is killed.
const (
	once     = "once"
	sidecar  = "sidecar"
	stubborn = "stubborn:1"
)

// podNames are the pods that may be asked for, in order; all fit on the node but for dns, which
// is critical and asked for on the way only.
var podNames = []string{"web", "job", "fixed", "conf", "side", "dns"}

// versions are what may be asked for, by pod name.
var versions = map[string][]string{
	"web": {
		stays(requesting("400m", podYAML("web", "sleep 3603", "terminationGracePeriodSeconds: 7"))),
		stays(podYAML("web", "sleep 3601", "terminationGracePeriodSeconds: 7")),
		stays(podYAML("web", "sleep 3602", "terminationGracePeriodSeconds: 1")),
		podYAML("web", `trap "exit 0" TERM; sleep 3600 & wait`),
	},
	"job": {
		strings.Replace(podYAML("job", "sleep 2; exit 0", job), "name: c", "name: "+once, 1),
		strings.Replace(podYAML("job", "exit 3", job), "name: c", "name: "+once, 1),
	},
	"fixed": {
		stays(requesting("400m", fixUID("fixed", podYAML("fixed", "sleep 3600", "terminationGracePeriodSeconds: 5")))),
		stays(fixUID("fixed", podYAML("fixed", "sleep 3601", "terminationGracePeriodSeconds: 5"))),
		fixUID("fixed", podYAML("fixed", "sleep 1; exit 1", "restartPolicy: OnFailure")),
		fixUID("fixed", podYAML("fixed", "sleep 1; exit 0", job, "activeDeadlineSeconds: 30")),
	},
	"conf": {conf("sleep 3600"), strings.Replace(fixUID("conf", conf("sleep 3601")), "fixed-1", "fixed-2", 1)},
	"side": {side(stubborn, "sleep 3600"), side("busybox:1", "sleep 40; exit 1")},
	"dns":  {stays(requesting("700m", podYAML("dns", "sleep 3600", criticalClass, "terminationGracePeriodSeconds: 4")))},
}

// version is the manifest that is named as in "web/1".
func version(t testing.TB, ref string) string {
	name, n, _ := strings.Cut(ref, "/")
	i, err := strconv.Atoi(n)
	if err != nil || i >= len(versions[name]) {
		t.Fatalf("there is no pod %q", ref)
	}
	return versions[name][i]
}

// stays makes the pod one that ends only when it is killed.
func stays(manifest string) string { return strings.ReplaceAll(manifest, "busybox:1", stubborn) }

// conf is a pod that is probed, and has a volume of objects that come and go.
func conf(command string) string {
	return stays(strings.Replace(podYAML("conf", command, "terminationGracePeriodSeconds: 3",
		"volumes: [{name: settings, configMap: {name: settings, optional: true}}]"), "command:",
		`volumeMounts: [{name: settings, mountPath: /settings}],
    readinessProbe: {exec: {command: [sh, -c, 'exit 0']}, periodSeconds: 2},
    livenessProbe: {exec: {command: [sh, -c, 'exit 0']}, periodSeconds: 3, timeoutSeconds: 1, failureThreshold: 2}, command:`, 1))
}

// side is a pod with an init container, a sidecar, and hooks.
func side(image, command string) string {
	return strings.Replace(podYAML("side", command, "terminationGracePeriodSeconds: 9",
		`initContainers: [{name: init, image: "busybox:1", command: [sh, -c, 'sleep 1; exit 0']},
    {name: `+sidecar+`, image: "`+stubborn+`", restartPolicy: Always, command: [sh, -c, 'sleep 3600']}]`),
		`{name: c, image: "busybox:1", `, `{name: c, image: "`+image+`",
    lifecycle: {postStart: {exec: {command: [sh, -c, 'exit 0']}}, preStop: {exec: {command: [sh, -c, 'sleep 1']}}}, `, 1)
}
