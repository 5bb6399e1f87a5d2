package podsync_test

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// A failed operation says in which layer it failed, whatever its text is.
func TestSyncErrorsHaveLayer(t *testing.T) {
	failing := func(method string) func(*bench) {
		return func(b *bench) {
			b.rt.fail = func(m, _ string) error {
				if m == method {
					return errors.New("no")
				}
				return nil
			}
		}
	}
	for _, tt := range []struct {
		name string
		fail func(*bench)
		want event.Layer
	}{
		{"RunPodSandbox", failing("RunPodSandbox"), event.LayerSandbox},
		{"pull", func(b *bench) { b.rt.images, b.rt.pullError = map[string]pod.Image{}, errors.New("no") }, event.LayerImage},
		{"CreateContainer", failing("CreateContainer"), event.LayerContainer},
		{"StartContainer", failing("StartContainer"), event.LayerContainer},
		{"cgroup", func(b *bench) { b.host.err["cgroup"] = errors.New("no") }, event.LayerCgroup},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				tt.fail(b)
				_, err := b.sync(podOf(v1.RestartPolicyAlways, container("c")))
				if got := event.LayerOf(err); got != tt.want || err == nil {
					t.Errorf("layer %q of %v; want %q", got, err, tt.want)
				}
			})
		})
	}
}

func TestTerminateErrorsHaveLayer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: 0} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		b.rt.fail = func(method, _ string) error {
			if method == "StopPodSandbox" {
				return errors.New("plugin type=bridge failed (delete)")
			}
			return nil
		}
		if _, err := b.terminate(t.Context(), p, nil); event.LayerOf(err) != event.LayerSandbox {
			t.Errorf("layer %q of %v; want sandbox", event.LayerOf(err), err)
		}
		b.rt.fail = func(string, string) error { return nil }
		b.host.err["unmount"] = errors.New("busy")
		if _, err := b.syncer.Cleanup(context.Background(), p, &pod.Status{UID: p.UID}); event.LayerOf(err) != event.LayerVolume {
			t.Errorf("layer %q of %v; want volume", event.LayerOf(err), err)
		}
	})
}
