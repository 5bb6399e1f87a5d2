package podsync_test

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A sync says that it was to create a sandbox, whether that failed or not.
func TestSyncResultReportsStart(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.rt.fail = func(method, _ string) error {
			if method == "RunPodSandbox" {
				return errors.New("no")
			}
			return nil
		}
		if res, err := syncWith(b, p, &pod.Objects{}); err == nil || !res.Started {
			t.Errorf("a start that failed: %v, started: %v", err, res.Started)
		}
		b.rt.fail = nil
		if res, err := syncWith(b, p, &pod.Objects{}); err != nil || !res.Started {
			t.Errorf("a start: %v, started: %v", err, res.Started)
		}
		if res, err := syncWith(b, p, &pod.Objects{}); err != nil || res.Started {
			t.Errorf("a pod that runs: %v, started: %v", err, res.Started)
		}
	})
}

// The steps of the first start are measured; a restart of a container later is no part of it.
func TestStartMeasuresItsSteps(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := imagePod("example.com/a:1", v1.PullAlways)
		b.rt.fail = func(method, _ string) error {
			if got := b.syncer.Start(p.UID); method == "PullImage" && (got.Step != pod.StepPull || got.Container != "c" || got.Image != "example.com/a:1" || got.Since.IsZero()) {
				t.Errorf("while the image is pulled: %+v", got)
			}
			return nil
		}
		began := time.Now()
		b.mustSync(p)
		latency := b.rt.latency.Seconds()
		want := pod.Start{Began: began, Ended: time.Now(), Took: pod.StartTook{Sandbox: latency, Pull: latency, Create: latency, Start: latency}}
		if got := b.syncer.Start(p.UID); got != want {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		b.rt.exit(b.rt.container(b.rt.snapshot().Containers[0].ID), 1, "Error")
		b.mustSync(p)
		if got := b.syncer.Start(p.UID); got != want {
			t.Errorf("after a restart %+v\nwant %+v", got, want)
		}
	})
}

// A start that fails goes on with the next sync.
func TestStartThatFailsIsInProgress(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.rt.fail = func(string, string) error { return errors.New("no network") }
		began := time.Now()
		_, err := b.sync(p)
		if got := b.syncer.Start(p.UID); err == nil || !got.Began.Equal(began) || !got.Ended.IsZero() || got.Step != "" {
			t.Errorf("%+v, %v", got, err)
		}
		b.rt.fail = nil
		time.Sleep(time.Second)
		b.mustSync(p)
		if got := b.syncer.Start(p.UID); !got.Began.Equal(began) || !got.Ended.Equal(time.Now()) || got.Took.Sandbox != 2*b.rt.latency.Seconds() {
			t.Errorf("%+v", got)
		}
	})
}
