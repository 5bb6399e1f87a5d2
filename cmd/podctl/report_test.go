package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/testkit/clustertest"
)

// unpacked returns the files of an archive, by name without the directory that all are in.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		files[name] = string(text)
	}
}

// withText returns the files that contain a text.
func withText(files map[string]string, text string) (found []string) {
	for name, content := range files {
		if strings.Contains(content, text) {
			found = append(found, name)
		}
	}
	return found
}

const secretPod = `
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: planted-secret-1}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: registry.test/web:1
    args: [--password=planted-secret-2, "--hook", "planted-secret-3"]
    env:
    - {name: HOOK_TOKEN, value: planted-secret-3}
    - {name: FROM_SECRET, valueFrom: {secretKeyRef: {name: db, key: password}}}
    volumeMounts: [{name: s, mountPath: /s}]
  volumes: [{name: s, secret: {secretName: db}}]
`

func TestReportOfRuntimeThatAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		running := w.run(secretPod)
		file := filepath.Join(w.dir, "r.tgz")
		c := w.start(nil, "report", "-o", file)
		c.ends(0, 20*time.Second)
		files := unpacked(t, file)
		for name, text := range map[string]string{
			"doctor/doctor.txt": "runtime", "pods/pods.txt": "default/web", "pods/pods.json": `"name": "web"`, "starting/starting.txt": "none\n",
			"describe/describe.txt": "default/web  Running", "version/version.txt": "podctl", "orphans/orphans.json": "[]\n", "kubelet-log/none.txt": "no kubelet", "index.html": "1 pod runs or has completed",
			"pleg-check/pleg-check.txt": "healthy", "images/images.txt": "registry.test/web:1", "events/events.txt": "default/web",
		} {
			if !strings.Contains(files[name], text) {
				t.Errorf("%s has no %q:\n%s", name, text, files[name])
			}
		}
		if found := withText(files, "planted-secret"); len(found) > 0 {
			t.Errorf("secrets in %q\n%s", found, files[found[0]])
		}
		// A file that exists is not replaced, nor is one that a link leads to.
		link := filepath.Join(w.dir, "link.tgz")
		if err := os.Symlink(filepath.Join(w.dir, "elsewhere"), link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{file, link} {
			w.told(1, time.Second, []string{"exists\n  hint: remove it, or name another file"}, "report", "-o", name)
		}
		running.interrupt()
		running.ends(130, time.Minute)
	})
}

func TestReportOfRuntimeThatHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		running := w.run(secretPod)
		var answers []func()
		for _, method := range []string{"Version", "Status", "ListPodSandbox", "ListContainers", "ListImages"} {
			answers = append(answers, w.sim.Inject("method="+method+" hang"))
		}
		file := filepath.Join(w.dir, "r.tgz")
		begun := time.Now()
		c := w.start(nil, "report", "-o", file)
		c.ends(0, 30*time.Second)
		if took := time.Since(begun); took > 27*time.Second {
			t.Errorf("took %s", took)
		}
		files := unpacked(t, file)
		page := files["index.html"]
		for _, text := range []string{"failure", "no answer within", "missing", "default/web"} {
			if !strings.Contains(page, text) {
				t.Errorf("the page has no %q:\n%s", text, page)
			}
		}
		if found := withText(files, "planted-secret"); len(found) > 0 {
			t.Errorf("secrets in %q\n%s", found, files[found[0]])
		}
		// An interrupt leaves no file.
		file = filepath.Join(w.dir, "interrupted.tgz")
		c = w.start(nil, "report", "-o", file)
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(130, 2*time.Second)
		if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v", err)
		}
		for _, answer := range answers {
			answer()
		}
		running.interrupt()
		running.ends(130, time.Minute)
	})
}

func TestReportOfSeveralNodes(t *testing.T) {
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	for name, text := range map[string]string{"podctl-report-x/index.html": "the page of a node", "podctl-report-x/pods/pods.txt": "default/web"} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	var args []string
	k := onCluster(t, clustertest.Options{Nodes: nodesOf(map[string]func(*clustertest.Session) int{
		"n1": func(s *clustertest.Session) int {
			args = s.Args
			return prints(0, archive.String(), "-: 17 parts\n")(s)
		},
		"n2": prints(3, "", "podctl: report: connect: no such file\n"),
	})})
	file := filepath.Join(t.TempDir(), "all.tgz")
	code, out, errw := k.podctl("--all-nodes", "report", "-o", file)
	if code != 3 || out != "" || !strings.Contains(errw, "n2") {
		t.Errorf("exit code %d\n%s%s", code, out, errw)
	}
	if got := strings.Join(args, " "); got != "podctl report -o -" {
		t.Errorf("on the node: %q", got)
	}
	got := unpacked(t, file)
	if got["n1/index.html"] != "the page of a node" || got["n1/pods/pods.txt"] != "default/web" || !strings.Contains(got["index.html"], "no such file") {
		t.Errorf("%q", got)
	}
}
