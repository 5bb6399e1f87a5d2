package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const twoJobs = `
apiVersion: v1
kind: Pod
metadata: {name: good, labels: {app: jobs}}
spec:
  restartPolicy: Never
  initContainers: [{name: prepare, image: busybox, command: ["true"]}]
  containers: [{name: c, image: busybox, command: [sleep, "5"], env: [{name: TOKEN, value: from-the-manifest}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec:
  restartPolicy: Never
  containers: [{name: c, image: busybox, command: [sh, -c, exit 3], resources: {limits: {memory: 8Mi}}}]
`

// documents are the pods of a YAML stream.
func documents(t *testing.T, stream string) []v1.Pod {
	t.Helper()
	var pods []v1.Pod
	for document := range strings.SplitSeq(stream, "---\n") {
		var p v1.Pod
		if err := yaml.UnmarshalStrict([]byte(document), &p); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		pods = append(pods, p)
	}
	return pods
}

func TestYAMLIsEachPodAsItEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(twoJobs, "-o", "yaml")
		c.ends(1, time.Minute)
		got := mask(c.out.String())
		path := filepath.Join("testdata", "yaml", "jobs.yaml")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("differs from %s (-want +got):\n%s", path, d)
		}
		// The first to end is the first to be printed.
		if pods := documents(t, c.out.String()); len(pods) != 2 || pods[0].Name != "bad" || pods[1].Status.Phase != v1.PodSucceeded {
			t.Errorf("documents of %d pods:\n%s", len(pods), c.out.String())
		}
		if !strings.Contains(c.errw.String(), "default/bad") {
			t.Errorf("what happens is not on stderr: %q", c.errw.String())
		}
	})
}

// mask takes out what differs from machine to machine.
func mask(text string) string {
	text = regexp.MustCompile(`(hostIP|nodeName|- ip|podIP|containerID|imageID): .*`).ReplaceAllString(text, "$1: <$1>")
	text = regexp.MustCompile(`  - ip: <- ip>\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(`"2\d\d\d-\d\d-\d\dT[\d:]+Z"`).ReplaceAllString(text, "<time>")
}

func TestYAMLOfReadyPodsIsTheirReadyState(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(strings.ReplaceAll(sleeper, "NAME", "web"), "-o", "yaml", "--wait", "ready")
		c.ends(0, time.Minute)
		pods := documents(t, c.out.String())
		if len(pods) != 1 || pods[0].Status.Phase != v1.PodRunning || !pods[0].Status.ContainerStatuses[0].Ready {
			t.Errorf("not one ready pod:\n%s", c.out.String())
		}
		w.holds(0)
	})
}

func TestYAMLOfAnInterruptedRunIsHowItsPodsEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(strings.ReplaceAll(sleeper, "NAME", "web"), "-o", "yaml")
		if printed := c.out.String(); printed != "" {
			t.Errorf("printed before its end: %s", printed)
		}
		c.interrupt()
		c.ends(130, time.Minute)
		pods := documents(t, c.out.String())
		if len(pods) != 1 || pods[0].Status.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("not one ended pod:\n%s", c.out.String())
		}
	})
}

func TestAReadinessGateIsSaidToKeepAPodFromReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(strings.ReplaceAll(sleeper, "NAME", "web")+"  readinessGates: [{conditionType: example.com/on}]\n",
			"--wait", "ready", "--wait-timeout", "30s")
		c.printed(`its readiness gate "example.com/on" takes a control plane`)
		c.ends(1, 2*time.Minute)
		if want := `default/web is not ready: corresponding condition of pod readiness gate "example.com/on" does not exist.`; !strings.Contains(c.errw.String(), want) {
			t.Errorf("stderr has no %q:\n%s", want, c.errw.String())
		}
	})
}

const sleeper = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "1000"]}]
`
