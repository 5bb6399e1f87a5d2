package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent prints goes to the system's journal.
func TestLastLineOfAFailedContainerHasNoSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n",
		"web.yaml": `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: i
    command: [sh, -c, 'echo "login failed for app:$PASSWORD"; exit 1']
    env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: s, key: password}}}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := startAgent(t, dir, "--manifests", filepath.Join(dir, "web.yaml"), "--config-from", filepath.Join(dir, "s.yaml"))
	a.prints("login failed")
	a.interrupts <- os.Interrupt
	<-a.code
	if out := a.out.String() + a.errw.String(); strings.Contains(out, "hunter2") || !strings.Contains(out, `"login failed for app:***"`) {
		t.Errorf("podctl printed\n%s", out)
	}
}
