package e2e

import (
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/test/live"
)

const (
	noObjects = "a standalone kubelet has no Secrets and ConfigMaps"
	noClasses = "a standalone kubelet knows no RuntimeClass"
	noPlugins = "a kubelet takes devices from device plugins"
)

// podFaults: what the pod asks for is not there, or not so.
var podFaults = []fault{
	{
		pod: "no-handler", what: "an unknown runtime handler", command: "starting", layer: "runtime", step: "sandbox", evidence: `no-such-handler`,
		manifest: func(_ *gallery, name string) string {
			return pod(name, server, brief, "runtimeClassName: no-such-handler")
		},
		without: map[string]string{"kubelet": noClasses},
	},
	{
		pod: "no-secret", what: "a Secret is missing", command: "starting", layer: "config", step: "object", evidence: `no-such-secret`,
		manifest: func(_ *gallery, name string) string {
			return with("env: [{name: A, valueFrom: {secretKeyRef: {name: no-such-secret, key: a}}}]", pod(name, server, brief))
		},
		without: map[string]string{"kubelet": noObjects},
	},
	{
		pod: "no-key", what: "a key of a ConfigMap is missing", command: "starting", layer: "config", step: "object", evidence: `no-such-key`,
		manifest: func(_ *gallery, name string) string {
			return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n---" +
				with("env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: no-such-key}}}]", pod(name, server, brief))
		},
		without: map[string]string{"kubelet": noObjects},
	},
	{
		pod: "no-hostpath", what: "the path of a hostPath volume is missing", command: "starting", layer: "volume", step: "volume", evidence: `/no-such-directory does not exist`,
		manifest: func(g *gallery, name string) string {
			return mountsHost(name, g.path("no-such-directory"), "Directory", server)
		},
	},
	{
		pod: "no-device", what: "a CDI device that no specification has", command: "starting", layer: "device", step: "device", evidence: `acme.com/none=0`,
		manifest: func(_ *gallery, name string) string {
			return strings.Replace(pod(name, server, brief), "metadata: {", "metadata: {annotations: {cdi.k8s.io/a: acme.com/none=0}, ", 1)
		},
		without: map[string]string{"kubelet": noPlugins},
	},
	{
		pod: "hung-mount", what: "the file system of a hostPath volume does not answer", command: "starting", layer: "volume", step: "volume", evidence: `/hung-mount does not answer`,
		manifest: func(g *gallery, name string) string {
			g.mended(live.HungMount(g.t, g.mkdir(name)))
			return mountsHost(name, g.path(name), "Directory", server)
		},
	},
	{
		pod: "no-profile", what: "a seccomp profile is missing", command: "starting", layer: "config", evidence: `no-such-profile`,
		manifest: func(_ *gallery, name string) string {
			return with("securityContext: {seccompProfile: {type: Localhost, localhostProfile: no-such-profile.json}}", pod(name, server, brief))
		},
	},
	{
		pod: "as-root", what: "runAsNonRoot, and the image's user is root", command: "starting", layer: "config", evidence: `runAsNonRoot`,
		manifest: func(_ *gallery, name string) string {
			return with("securityContext: {runAsNonRoot: true}", pod(name, server, brief))
		},
	},
	{
		pod: "no-command", what: "the command is not in the image", command: "starting", layer: "application", step: "start", evidence: `/no-such-command`,
		manifest: func(_ *gallery, name string) string {
			return strings.Replace(pod(name, "", brief), `[sh, -c, ""]`, "[/no-such-command]", 1)
		},
	},
	{
		pod: "exec-format", what: "the command is no program of this machine", command: "starting", layer: "application", evidence: `exec format error`,
		manifest: func(g *gallery, name string) string {
			file := g.write("programs/garbage", "\x7fELF of another machine", 0o755)
			return strings.Replace(mountsHost(name, filepath.Dir(file), "Directory", ""), `[sh, -c, ""]`, "[/v/garbage]", 1)
		},
	},
}

// mountsHost is a pod that has a path of the host at /v.
func mountsHost(name, path, kind, command string) string {
	return with("volumeMounts: [{name: v, mountPath: /v}]", pod(name, command, brief, "volumes: [{name: v, hostPath: {path: "+path+", type: "+kind+"}}]"))
}
