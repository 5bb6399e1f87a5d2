package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The whole matrix of facts, each combination with what it must give.
func TestStatusPrecedence(t *testing.T) {
	both := []bool{false, true}
	n := 0
	for _, phase := range []v1.PodPhase{"", v1.PodPending, v1.PodRunning, v1.PodSucceeded, v1.PodFailed, PhaseExited} {
		ended := phase == v1.PodSucceeded || phase == v1.PodFailed
		shownPhase := string(phase)
		if phase == "" {
			shownPhase = "Pending"
		}
		for _, containers := range []string{"", "CrashLoopBackOff"} {
			for _, rejected := range both {
				for _, wait := range []string{"", "NameHeld"} {
					for _, terminating := range both {
						for _, stopped := range both {
							for _, finished := range both {
								n++
								f := StatusFacts{
									Containers: containers, Phase: phase, Rejected: rejected, WaitReason: wait,
									Terminating: terminating, Stopped: stopped, Finished: finished,
								}
								var want string // STATUS phase
								if rejected && wait == "" {
									want = "Rejected Rejected"
								} else if rejected {
									want = "NameHeld " + shownPhase
								} else if terminating && !ended {
									want = "Terminating Terminating"
								} else if stopped && (ended || finished) {
									want = "Stopped " + shownPhase
								} else if containers != "" {
									want = "CrashLoopBackOff " + shownPhase
								} else {
									want = shownPhase + " " + shownPhase
								}
								status, shown := f.Decide()
								if got := status + " " + shown; got != want {
									t.Errorf("%+v: %s, want %s", f, got, want)
								}
								// What was decided once stays so: a reader may decide again.
								f.Containers = status
								again, _ := f.Decide()
								if again != status {
									t.Errorf("%+v: decided again it is %s", f, again)
								}
							}
						}
					}
				}
			}
		}
	}
	if want := 6 * 2 * 2 * 2 * 2 * 2 * 2; n != want {
		t.Errorf("%d combinations, want %d", n, want)
	}
}

func TestStatusFactsExamples(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts StatusFacts
		want  string
	}{
		{"nothing known", StatusFacts{}, "Pending Pending"},
		{"running", StatusFacts{Containers: "Running", Phase: v1.PodRunning}, "Running Running"},
		{"crash loop", StatusFacts{Containers: "CrashLoopBackOff", Phase: v1.PodRunning}, "CrashLoopBackOff Running"},
		{"not admitted", StatusFacts{Containers: "Pending", Phase: v1.PodPending, Rejected: true}, "Rejected Rejected"},
		{"name in use", StatusFacts{Phase: v1.PodPending, Rejected: true, WaitReason: "NameHeld"}, "NameHeld Pending"},
		{"a runtime that is away delays the removal", StatusFacts{Containers: "Completed", Phase: v1.PodSucceeded, WaitReason: "RuntimeUnavailable"}, "Completed Succeeded"},
		{"terminating", StatusFacts{Containers: "Running", Phase: v1.PodRunning, Terminating: true}, "Terminating Terminating"},
		{"terminating, its containers have ended", StatusFacts{Containers: "Error", Phase: v1.PodFailed, Terminating: true}, "Error Failed"},
		{"being stopped", StatusFacts{Containers: "Running", Phase: v1.PodRunning, Stopped: true}, "Running Running"},
		{"stopped", StatusFacts{Containers: "Completed", Phase: v1.PodSucceeded, Stopped: true, Finished: true}, "Stopped Succeeded"},
		{"removed, and still desired", StatusFacts{Containers: "Completed", Phase: v1.PodSucceeded, Stopped: true, Finished: true, Removed: true}, "Removed Succeeded"},
		{"stopped before it ran", StatusFacts{Stopped: true, Finished: true}, "Stopped Pending"},
		{"ended, by the runtime's listing", StatusFacts{Containers: "Completed", Phase: PhaseExited}, "Completed Exited"},
	} {
		status, phase := c.facts.Decide()
		if got := status + " " + phase; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
