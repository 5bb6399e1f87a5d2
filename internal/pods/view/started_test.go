package view

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

func TestStartedNamesKnownStepsOnly(t *testing.T) {
	zero := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var never time.Time
	one := []run{{created: at(1600), started: at(1720)}}
	for _, c := range []struct {
		name string
		got  *Started
		want string
	}{
		{"measured", startedBy(pod.Start{Began: at(0), Ended: at(1930), Took: pod.StartTook{Volumes: 0.1, Sandbox: 1.5, Create: 0.2, Start: 0.1}}, 0),
			"in 1.9 s: volumes 0.1, sandbox and network 1.5, pull 0, create 0.2, start 0.1"},
		{"measured, with its turn, a hook and an init container", startedBy(pod.Start{Began: at(0), Ended: at(21000), Took: pod.StartTook{Turn: 2, Pull: 12.4, Hook: 1}}, 3*time.Second),
			"in 21 s: volumes 0, turn 2.0, sandbox and network 0, pull 12, create 0, start 0, hook 1.0, init 3.0"},
		{"measured, in progress", startedBy(pod.Start{Began: at(0)}, 0), ""},
		{"by timestamps", startedAt(at(0), at(1500), one), "in ≤ 1.7 s: volumes and network ≤ 1.5, pull and create ≤ 0.1, start ≤ 0.1"},
		{"by timestamps, an unknown begin", startedAt(never, at(1500), one), "in ≤ 0.2 s after its sandbox: pull and create ≤ 0.1, start ≤ 0.1"},
		{"a begin after the sandbox", startedAt(at(9000), at(1500), one), "in ≤ 0.2 s after its sandbox: pull and create ≤ 0.1, start ≤ 0.1"},
		{"two containers and an init container", startedAt(at(0), at(500), []run{
			{init: true, created: at(600), started: at(700), finished: at(2700)}, {created: at(3000), started: at(3100)}, {created: at(5000), started: at(5200)},
		}), "in ≤ 5.2 s: volumes and network ≤ 0.5, pull and create ≤ 2.3, start ≤ 0.4, init 2.0"},
		{"out of order", startedAt(at(0), at(1500), []run{{created: at(100), started: at(1720)}}), ""},
		{"no container", startedAt(at(0), at(1500), nil), ""},
		{"no sandbox", startedAt(at(0), never, one), ""},
	} {
		got := ""
		if c.got != nil {
			got = c.got.Text()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
