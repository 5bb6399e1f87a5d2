package podsync_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A part of a secret is one, too: texts are masked before they are cut.
func TestMaskBeforeHookOutputIsCut(t *testing.T) {
	const secret, limit = "hunter2-and-more", 10 << 10
	postStart := func(c *v1.Container) {
		c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"hook"}}}}
	}
	for name, output := range map[string]string{
		"at the cut": strings.Repeat("x", limit-7) + secret,
		"long":       strings.Repeat("x", 100) + secret + strings.Repeat("\x01", 16<<20),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				p := secretive(postStart)
				b.rt.execs = func([]string) (time.Duration, int32) { return 0, 1 }
				b.rt.output = output
				out := leaks(t, b, p, secret)
				if strings.Contains(out, "hunter2") || !strings.Contains(out, "***") {
					t.Error("the secret, or no mask")
				}
				if kept, _ := b.syncer.Status(p.UID); len(kept.ContainerStatuses[0].State.Waiting.Message) > limit {
					t.Errorf("a message of %d bytes", len(kept.ContainerStatuses[0].State.Waiting.Message))
				}
				for _, e := range b.events.list {
					if e.Failure != nil && len(e.Failure.Text) > 5*limit {
						t.Errorf("an event of %d bytes", len(e.Failure.Text))
					}
				}
			})
		})
	}
}

// What a runtime says of a start may be long.
func TestWaitingMessageIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := secretive(func(*v1.Container) {})
		b.rt.fail = func(m, _ string) error {
			if m == "CreateContainer" {
				return errors.New(strings.Repeat("x", 10<<10-60) + strings.Repeat("hunter2", 1000))
			}
			return nil
		}
		leaks(t, b, p, "hunter2")
		kept, _ := b.syncer.Status(p.UID)
		if got := kept.ContainerStatuses[0].State.Waiting.Message; len(got) > 10<<10 || strings.Contains(got, "hunter") {
			t.Errorf("%d bytes that end with %q", len(got), got[max(0, len(got)-100):])
		}
	})
}
