package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every command that looks inside ends within a second of Ctrl-C, although the call
// that it waits for does not return.
func TestInterruptEndsWhatLooksInsideWhileItsCallHangs(t *testing.T) {
	for _, c := range []struct {
		args  string
		hangs string // "": it goes on by itself
	}{
		{"logs web", "ListPodSandbox"},
		{"logs -f web", "ContainerStatus"},
		{"exec web -- true", "Exec"},
		{"exec --timeout 1h web -- true", "ExecSync"},
		{"exec -i web -- true", "Exec"},
		{"exec --all * -- true", "ExecSync"},
		{"attach web", "Attach"},
		{"cp web:/etc/hosts DIR/hosts", "ContainerStatus"},
		{"port-forward web :80", "ListContainers"},
		{"top", "ListContainerStats"},
		{"top -w", "ListContainerStats"},
		{"describe web", "ListPodSandbox"},
		{"describe web", "ContainerStatus"},
		{"inspect web", "PodSandboxStatus"},
		{"events -w", ""},
		{"images", "ListImages"},
		{"pull docker.io/library/other:1", "PullImage"},
		{"rmi docker.io/library/busybox:1", "ListImages"},
		{"prune --yes", "ListImages"},
		{"wait web --for=delete", ""},
		{"wait web --for=exit", "ContainerStatus"},
		{"debug web --image busybox -- true", "ImageStatus"},
		{"debug web --image busybox -- true", "CreateContainer"},
		{"doctor", "Status"},
		{"version", "Version"},
	} {
		t.Run(c.args+" "+c.hangs, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.pod("default", "web").Start("web", "sleep", "3600")
				if c.hangs != "" {
					defer w.sim.Inject("method=" + c.hangs + " hang")()
				}
				p := w.start(strings.NewReader(""), strings.Fields(strings.ReplaceAll(c.args, "DIR", filepath.Join(w.dir)))...)
				time.Sleep(500 * time.Millisecond)
				select {
				case code := <-p.code:
					t.Errorf("ended with %d\n%s%s", code, p.out.String(), p.errw.String())
					return
				default:
				}
				p.interrupt()
				select {
				case <-p.code:
				case <-time.After(time.Second):
					t.Errorf("not ended within a second\n%s%s", p.out.String(), p.errw.String())
					<-p.code
				}
			})
		})
	}
}

// A debug container whose start takes long is removed after Ctrl-C, once it has started:
// one that is starting cannot be removed.
func TestInterruptRemovesADebugContainerThatStarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		defer w.sim.Inject("method=StartContainer delay=5s")()
		p := w.start(strings.NewReader(""), "debug", "web", "--image", "busybox", "--", "sleep", "3600")
		time.Sleep(2 * time.Second)
		p.goesOn()
		p.interrupt()
		p.ends(130, 10*time.Second)
		list, err := w.sim.ListContainers(t.Context(), nil)
		if err != nil || len(list.Containers) != 1 || strings.Contains(p.errw.String(), "warning") {
			t.Errorf("the runtime holds %v, %v\n%s", list, err, p.errw.String())
		}
	})
}
