package probe_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
)

var types = []probe.Type{probe.Startup, probe.Liveness, probe.Readiness}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func spec(change ...func(*v1.Probe)) *v1.Probe {
	p := &v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	for _, c := range change {
		c(p)
	}
	return p
}

// up is a container that has been running for a minute.
func up(started bool) probe.View {
	return probe.View{ID: "c1", Running: true, StartedAt: now.Add(-time.Minute), Started: started}
}

func TestLook(t *testing.T) {
	delayed := spec(func(p *v1.Probe) { p.InitialDelaySeconds = 61 })
	over := spec(func(p *v1.Probe) { p.InitialDelaySeconds = 60 })
	known := func(r pod.ProbeResult) probe.State { return probe.State{ID: "c1", Result: r} }
	held := probe.State{ID: "c1", Result: pod.ProbeFailure, Last: pod.ProbeFailure, OnHold: true}
	for _, c := range []struct {
		name string
		s    probe.State
		spec *v1.Probe
		v    probe.View
		// want are the verdicts and results of startup, liveness, readiness.
		want string
	}{
		{"no container", probe.State{}, spec(), probe.View{}, "Wait Unknown, Wait Unknown, Wait Unknown"},
		{"a pod that has ended", known(pod.ProbeSuccess), spec(), probe.View{PodEnded: true, ID: "c1"}, "Done Success, Done Success, Done Success"},
		{"a container that has not started up", probe.State{}, spec(), up(false), "Ask Unknown, Wait Success, Wait Failure"},
		{"a container that has started up", probe.State{}, spec(), up(true), "Wait Unknown, Ask Success, Ask Failure"},
		{"results are kept until there are others", known(pod.ProbeSuccess), spec(), up(true), "Wait Success, Ask Success, Ask Success"},
		{"the initial delay is not over", probe.State{}, delayed, up(false), "Wait Unknown, Wait Success, Wait Failure"},
		{"the initial delay is not over, started", probe.State{}, delayed, up(true), "Wait Unknown, Wait Success, Wait Failure"},
		{"the initial delay is over", probe.State{}, over, up(true), "Wait Unknown, Ask Success, Ask Failure"},
		{"created only", probe.State{}, spec(), probe.View{ID: "c1"}, "Wait Unknown, Wait Success, Wait Failure"},
		{"created by an earlier podctl", probe.State{}, spec(), probe.View{ID: "c1", RanBefore: true}, "Wait Unknown, Wait Success, Wait Unknown"},
		{"exited", known(pod.ProbeSuccess), spec(), probe.View{ID: "c1", Exited: true}, "Wait Failure, Wait Failure, Wait Failure"},
		{"on hold", held, spec(), up(true), "Wait Failure, Wait Failure, Wait Failure"},
		{"on hold, exited", held, spec(), probe.View{ID: "c1", Exited: true}, "Wait Failure, Wait Failure, Wait Failure"},
		{"on hold, but of another container", probe.State{ID: "c0", Result: pod.ProbeFailure, OnHold: true}, spec(), up(false), "Ask Unknown, Wait Success, Wait Failure"},
	} {
		got := ""
		for i, typ := range types {
			next, verdict := c.s.Next(typ, c.spec, c.v, now)
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprint(verdict, " ", next.Result)
			if next.Last != c.s.Last || next.Run != c.s.Run {
				t.Errorf("%s, %s: a look changed what was answered: %+v", c.name, typ, next)
			}
			if c.v.ID != "" && !c.v.PodEnded && next.ID != c.v.ID {
				t.Errorf("%s, %s: it is about container %q", c.name, typ, next.ID)
			}
			if next.OnHold != (c.s.OnHold && c.s.ID == c.v.ID) {
				t.Errorf("%s, %s: on hold: %v", c.name, typ, next.OnHold)
			}
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	p := spec(func(p *v1.Probe) { p.SuccessThreshold, p.FailureThreshold = 2, 3 })
	for _, c := range []struct {
		probe   probe.Type
		answers string // s or f
		want    string // of the result, a letter after each answer; h is held
	}{
		{probe.Readiness, "sssffffs", "FSSSSFFF"},
		{probe.Readiness, "fsfsfss", "FFFFFFS"},
		{probe.Readiness, "ssfsffsff", "FSSSSSSSS"},
		{probe.Liveness, "ffsfff", "SSSSSh"},
		{probe.Liveness, "ssss", "SSSS"},
		{probe.Startup, "ffsff", "UUUUU"},
		{probe.Startup, "fff", "UUh"},
		{probe.Startup, "ss", "Uh"},
	} {
		s, _ := probe.State{}.Next(c.probe, p, up(c.probe != probe.Startup), now)
		got := ""
		for _, a := range c.answers {
			s = s.WithResult(c.probe, p, map[rune]pod.ProbeResult{'s': pod.ProbeSuccess, 'f': pod.ProbeFailure}[a])
			if s.OnHold {
				got += "h"
				continue
			}
			got += s.Result.String()[:1]
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.probe, c.answers, got, c.want)
		}
	}
}

func TestReplacedContainerContinuesCount(t *testing.T) {
	s := probe.State{ID: "c0", Result: pod.ProbeSuccess, Last: pod.ProbeFailure, Run: 2}
	s, _ = s.Next(probe.Liveness, spec(), up(true), now)
	if s = s.WithResult(probe.Liveness, spec(), pod.ProbeFailure); s.Result != pod.ProbeFailure || !s.OnHold {
		t.Errorf("%+v; want the third failure in a row to count", s)
	}
	s.ID = "c0"
	s, _ = s.Next(probe.Liveness, spec(), up(true), now)
	if s = s.WithResult(probe.Liveness, spec(), pod.ProbeFailure); s.Result != pod.ProbeSuccess {
		t.Errorf("%+v; want a probe that was on hold to start over", s)
	}
}

// TestStateInAnyHistory: what is asked and what counts, in any history, by the
// whole list of answers.
func TestStateInAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		p := spec(func(p *v1.Probe) {
			p.InitialDelaySeconds = rapid.Int32Range(0, 20).Draw(t, "delay")
			p.FailureThreshold = rapid.Int32Range(1, 4).Draw(t, "failure")
			p.SuccessThreshold = 1
			if typ == probe.Readiness {
				p.SuccessThreshold = rapid.Int32Range(1, 4).Draw(t, "success")
			}
		})
		var s probe.State
		var answers []pod.ProbeResult // since the last hold
		held := ""
		clock := now
		v := probe.View{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			clock = clock.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "passes")) * time.Second)
			switch rapid.SampledFrom([]string{"stay", "stay", "stay", "new", "exit", "start up"}).Draw(t, "event") {
			case "new":
				v = probe.View{ID: fmt.Sprint("c", clock.Unix(), rapid.Int().Draw(t, "id")), Running: true, StartedAt: clock, Started: rapid.Bool().Draw(t, "started")}
			case "exit":
				v.Running, v.Exited, v.Started = false, v.ID != "", false
			case "start up":
				v.Started = v.Running
			}
			before := s
			next, verdict := s.Next(typ, p, v, clock)
			s = next
			if verdict == probe.Ask {
				switch {
				case !v.Running, clock.Sub(v.StartedAt) < time.Duration(p.InitialDelaySeconds)*time.Second:
					t.Fatalf("asked a container that does not run, or too early: %+v", v)
				case v.Started == (typ == probe.Startup):
					t.Fatalf("%s asked a container that has started: %v", typ, v.Started)
				case held == v.ID:
					t.Fatalf("asked on hold")
				}
			}
			if before.ID == s.ID && before.Result != s.Result && (!v.Exited || s.Result != pod.ProbeFailure) {
				t.Fatalf("a look changed %v to %v", before.Result, s.Result)
			}
			if verdict != probe.Ask {
				continue
			}
			answer := rapid.SampledFrom([]pod.ProbeResult{pod.ProbeSuccess, pod.ProbeFailure}).Draw(t, "answer")
			answers = append(answers, answer)
			s = s.WithResult(typ, p, answer)
			want := next.Result
			threshold := map[pod.ProbeResult]int32{pod.ProbeSuccess: p.SuccessThreshold, pod.ProbeFailure: p.FailureThreshold}[answer]
			if inARow(answers) >= int(threshold) {
				want = answer
				if typ == probe.Startup || typ == probe.Liveness && answer == pod.ProbeFailure {
					held, answers = v.ID, nil
				}
			}
			if s.Result != want || s.OnHold != (held == v.ID) {
				t.Fatalf("after %v: %+v; want %v, on hold %v", answers, s, want, held == v.ID)
			}
		}
	})
}

// inARow counts the last answers that are equal.
func inARow(answers []pod.ProbeResult) int {
	n := 0
	for i := len(answers) - 1; i >= 0 && answers[i] == answers[len(answers)-1]; i-- {
		n++
	}
	return n
}

func TestResultStrings(t *testing.T) {
	if got := fmt.Sprint(probe.Startup, probe.Liveness, probe.Readiness, pod.ProbeUnknown, pod.ProbeSuccess, pod.ProbeFailure, probe.Wait, probe.Ask, probe.Done); got != "Startup Liveness Readiness Unknown Success Failure Wait Ask Done" {
		t.Error(got)
	}
}

// The runtime says that it started in the future: the clock was set back since.
func TestProbeAfterClockSetBack(t *testing.T) {
	v := up(true)
	v.StartedAt = now.Add(time.Hour)
	if _, verdict := (probe.State{}).Next(probe.Liveness, spec(), v, now); verdict != probe.Ask {
		t.Errorf("without a delay: %s", verdict)
	}
	delayed := spec(func(p *v1.Probe) { p.InitialDelaySeconds = 30 })
	s, first := (probe.State{}).Next(probe.Liveness, delayed, v, now)
	s, early := s.Next(probe.Liveness, delayed, v, now.Add(29*time.Second))
	_, late := s.Next(probe.Liveness, delayed, v, now.Add(30*time.Second))
	if first != probe.Wait || early != probe.Wait || late != probe.Ask {
		t.Errorf("with a delay of 30s: %s, after 29s %s, after 30s %s", first, early, late)
	}
}
