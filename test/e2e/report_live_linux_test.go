package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/image"
)

// leaky is a pod with secrets in its environment, its Secret volume, its arguments and its log.
const leaky = `
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: planted-in-volume}
---
apiVersion: v1
kind: Pod
metadata: {name: leaky}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo $API_TOKEN $FROM; cat /s/password; exec sleep 1000", --token, planted-in-arguments]
    env:
    - {name: API_TOKEN, value: planted-in-variable}
    - {name: FROM, valueFrom: {secretKeyRef: {name: db, key: password}}}
    volumeMounts: [{name: s, mountPath: /s}]
  volumes: [{name: s, secret: {secretName: db}}]
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo login with $DB_PASSWORD failed; exit 3"]
    env: [{name: DB_PASSWORD, value: planted-in-log}]
`

// reportTime is how long a report may take, with time for a busy host.
const reportTime = 40 * time.Second

func TestReport(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		proc := p.start(strings.ReplaceAll(leaky, "IMAGE", image.BusyboxName), "-")
		proc.prints("c exited 3")
		eventually(t, "the pod runs", func() bool {
			out, _, _ := p.podctl("pods", "leaky")
			return strings.Contains(out, " Running ")
		}, p.outputs)

		files := p.reported("answers")
		for name, text := range map[string]string{
			"doctor/doctor.txt": "runtime.cri", "pods/pods.txt": "default/leaky", "describe/describe.txt": "login with *** failed",
			"inspect/001-default_leaky.json": `"runtimeSpec"`, "runtime-answers/Status.json": "RuntimeReady", "runtime-answers/ListContainers.json": "leaky",
			"runtime-config/command-line.txt": rt.Kind, "kernel-log/kernel.txt": "", "index.html": "default/crash",
		} {
			if content, ok := files[name]; !ok || !strings.Contains(content, text) {
				t.Errorf("%s has no %q:\n%.2000s", name, text, content)
			}
		}
		if log := files["runtime-log/journal.txt"] + files["runtime-log/stderr.txt"]; log == "" {
			t.Errorf("no log of the runtime:\n%s", files["index.html"])
		}

		rt.Signal(t, syscall.SIGSTOP)
		begun := time.Now()
		files = p.reported("hangs")
		took := time.Since(begun)
		rt.Signal(t, syscall.SIGCONT)
		t.Logf("a report of a stopped runtime took %s", took)
		if took > reportTime {
			t.Errorf("a report of a stopped runtime took %s", took)
		}
		for _, text := range []string{"is stopped by a signal", "default/leaky", "missing"} {
			if !strings.Contains(files["index.html"], text) {
				t.Errorf("the page has no %q:\n%s", text, files["index.html"])
			}
		}
		proc.signal(syscall.SIGTERM)
		proc.wait()
	})
}

// reported makes a report, and returns its files by name. None has a secret.
func (p *place) reported(name string) map[string]string {
	p.t.Helper()
	path := p.path(name + ".tgz")
	if _, errw, code := p.podctl("report", "-o", path); code != 0 {
		p.t.Fatalf("exit %d\n%s", code, errw)
	}
	f, err := os.Open(path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		p.t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			p.t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			p.t.Fatal(err)
		}
		_, file, _ := strings.Cut(h.Name, "/")
		if files[file] = string(text); strings.Contains(files[file], "planted-in") {
			p.t.Errorf("%s, %s: a secret is not masked:\n%.4000s", name, file, text)
		}
	}
}
