package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

const classPod = `
apiVersion: v1
kind: Pod
metadata: {name: classy}
spec:
  restartPolicy: Never
  runtimeClassName: CLASS
  containers: [{name: c, image: busybox, command: ["true"]}]
`

func runClass(t *testing.T, class, handler string, flags ...string) (out, errw string, code int, handlers []string) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Close()
		w.sim = sim.New(sim.Options{Record: true, Handlers: []string{handler}})
		c := w.start(strings.NewReader(strings.Replace(classPod, "CLASS", class, 1)), append(append([]string{"run"}, flags...), "-")...)
		select {
		case code = <-c.code:
		case <-time.After(time.Minute):
			t.Fatal("not ended")
		}
		out, errw = c.out.String(), c.errw.String()
		for _, call := range w.sim.Calls("RunPodSandbox") {
			handlers = append(handlers, call.Request.(*runtimeapi.RunPodSandboxRequest).RuntimeHandler)
		}
	})
	return out, errw, code, handlers
}

func TestARuntimeClassIsTheHandlerOfItsNameOrTheOneItIsMappedTo(t *testing.T) {
	for class, flags := range map[string][]string{"second": nil, "gvisor": {"--runtime-class", "gvisor=second"}} {
		out, errw, code, handlers := runClass(t, class, "second", flags...)
		if code != 0 || !slices.Equal(handlers, []string{"second"}) {
			t.Errorf("%s: exit code %d, handlers %q\n%s%s", class, code, handlers, out, errw)
		}
	}
}

func TestAHandlerThatTheRuntimeLacksIsAnErrorBeforeAnythingStarts(t *testing.T) {
	for _, flags := range [][]string{nil, {"--runtime-class", "gvisor=other"}} {
		out, errw, code, sandboxes := runClass(t, "gvisor", "second", flags...)
		if code != 1 || len(sandboxes) > 0 || out != "" {
			t.Errorf("exit code %d, sandboxes %v\n%s", code, sandboxes, out)
		}
		for _, want := range []string{`pod "default/classy"`, `runtime class "gvisor": the runtime has no handler`, "hint: it has runc, second"} {
			if !strings.Contains(errw, want) {
				t.Errorf("stderr has no %q:\n%s", want, errw)
			}
		}
	}
}

func TestARuntimeClassFlagIsNameAndHandler(t *testing.T) {
	for _, flags := range [][]string{{"--runtime-class", "gvisor"}, {"--runtime-class", "=x"}, {"--runtime-class", "x="},
		{"--runtime-class", "x=a", "--runtime-class", "x=b"}} {
		if _, errw, code, _ := runClass(t, "second", "second", flags...); code != 2 || !strings.Contains(errw, "--runtime-class") {
			t.Errorf("%v: exit code %d\n%s", flags, code, errw)
		}
	}
}

func TestDeclaredRuntimeClassHasItsHandler(t *testing.T) {
	manifest := "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: second}\n---" + classPod
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Close()
		w.sim = sim.New(sim.Options{Record: true, Handlers: []string{"second"}})
		c := w.start(strings.NewReader(strings.Replace(manifest, "CLASS", "kata", 1)), "run", "-")
		select {
		case code := <-c.code:
			if code != 0 {
				t.Errorf("exit code %d\n%s", code, c.errw.String())
			}
		case <-time.After(time.Minute):
			t.Fatal("not ended")
		}
		for _, call := range w.sim.Calls("RunPodSandbox") {
			if got := call.Request.(*runtimeapi.RunPodSandboxRequest).RuntimeHandler; got != "second" {
				t.Errorf("handler %q", got)
			}
		}
	})
}
