package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// with gives the container of a pod a further field.
func with(field, pod string) string {
	return strings.Replace(pod, "    image:", "    "+field+"\n    image:", 1)
}

// TestStartErrorsAreReportedAndRetried: what only the runtime or the
// node can reject is retried, with the kubelet's reason in a line; when the cause
// is gone the pod runs.
func TestStartErrorsAreReportedAndRetried(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		directory := p.path("mark") + "/directory"
		if err := os.WriteFile(directory, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		profile := with("securityContext: {seccompProfile: {type: Localhost, localhostProfile: some.json}}", pod("profile", server, brief))
		mount := with("volumeMounts: [{name: v, mountPath: /v}]",
			pod("mount", server, brief, "volumes: [{name: v, hostPath: {path: "+directory+", type: Directory}}]"))

		c := p.start(profile+mount, "--wait=ready", "--wait-timeout=2m", "-")
		c.prints("c: CreateContainerError: ")
		c.prints("some.json")
		c.prints("FailedMount: ")
		c.prints("hostPath type check failed: " + directory + " is not a directory")

		if err := os.Remove(directory); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(p.path("root")+"/seccomp", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.path("root")+"/seccomp/some.json", []byte(`{"defaultAction": "SCMP_ACT_ALLOW"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		if code := c.wait(); code != 0 {
			out, errw := c.output()
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		if err := os.RemoveAll(p.path("root") + "/seccomp"); err != nil {
			t.Fatal(err)
		}
	})
}
