package podsync_test

import (
	"errors"
	"testing"

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
