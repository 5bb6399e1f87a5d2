package twin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// row is a row of docs/kubelet-differences.md: which differences it explains.
type row struct {
	begins   string // how the row begins
	explains func(p *comparing, d Difference) bool
}

var (
	later    = regexp.MustCompile(`^sandbox [1-9]`)
	counted  = regexp.MustCompile(`(\.metadata\.attempt|\.container\.restartCount|\.config\.logPath|, run \d+)$`)
	betweens = regexp.MustCompile(`(terminated \d+ \w+ "[^"]*"|waiting (PodInitializing|ContainerCreating|PostStartHookError|RunContainerError|CreateContainerError|CrashLoopBackOff))(, before \d+ \w+)?`)
)

var rows = []row{
	{
		"leftover files of a pod (containers, sandboxes, directory, logs) are removed as soon as it is stopped",
		// A kubelet counts on from what it finds of the pod before, attempts and back-off.
		func(p *comparing, d Difference) bool {
			if !p.comesBack() {
				return false
			}
			// Where the pod does not restart always, the runs that it finds may be its last.
			status := strings.HasPrefix(d.What, "status") && (counted.MatchString(d.What) || !p.restartsAlways())
			return status || later.MatchString(d.What) || strings.HasPrefix(d.What, "events ")
		},
	},
	{
		"a hook that exceeds its grace period, and a Sync or Terminate that is cancelled, end at the next call",
		// A kubelet's goes on, fails when the container has ended, and publishes nothing before that.
		func(p *comparing, d Difference) bool {
			more := strings.HasPrefix(d.What, "status ") && p.hasCanceled() && len(d.states[0]) > 0 && !lacks(d.states[0], d.states[1])
			return more || strings.HasPrefix(d.What, "events FailedPreStopHook ") && number(d.Podctl) < number(d.Kubelet) ||
				strings.HasSuffix(d.What, ": calls") && strings.ReplaceAll(d.Podctl, "ExecSync Canceled", "ExecSync OK") == d.Kubelet
		},
	},
	{
		"a failed start is in the status at once",
		// A kubelet shows how the container ended until its next sync, and nothing of the containers
		// beside it until this one ends.
		func(p *comparing, d Difference) bool {
			a, b := between(d.states[0]), between(d.states[1])
			same := func(a, b []run) bool { return len(a) > 0 && len(b) > 0 && !lacks(a, b) && !lacks(b, a) }
			ended := func(runs []run) []run {
				return slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return strings.HasPrefix(r.state, "running") })
			}
			return same(a, b) || stopsInSync(p.kubelet, d.What) && same(a, ended(b)) || isBrief(p.kubelet, d.What) && isBrief(p.podctl, d.What) && same(ended(a), ended(b))
		},
	},
	{
		"`activeDeadlineSeconds` fails a pod when the time is over",
		func(_ *comparing, d Difference) bool {
			return strings.HasPrefix(d.What, "events DeadlineExceeded ") && d.Podctl == "1" && d.Kubelet != "0"
		},
	},
	{
		"`podctl.json` in the pod's directory keeps that a pod was asked to stop, and how it ended",
		// A kubelet that starts again begins a static pod anew, and its deadline.
		func(p *comparing, d Difference) bool { return sinceRestart(d) && p.endedBeforeRestart() },
	},
	{
		"a terminal phase in the status published last is final",
		func(p *comparing, d Difference) bool {
			return sinceRestart(d) && p.restart > 0 && strings.Contains(p.pod.Acts[0].Manifest, "activeDeadlineSeconds") && p.pod.Acts[0].At < p.restart
		},
	},
	{
		"a pod that waits for its name starts as soon as that is free",
		func(p *comparing, d Difference) bool {
			waits := d.What == "status of the pod" && strings.Contains(d.Kubelet, "Pending") && !strings.Contains(d.Podctl, "Pending")
			lateRun := strings.HasPrefix(d.What, "status of ") && counted.MatchString(d.What) && (d.Kubelet == "" || d.Podctl == "")
			return len(p.pod.Acts) > 1 && (waits || lateRun || later.MatchString(d.What) && strings.Contains(d.What, " RunPodSandbox after "))
		},
	},
	{
		"an adopted container whose startup probe has not succeeded has not started",
		func(p *comparing, d Difference) bool {
			return (sinceRestart(d) || strings.HasSuffix(d.What, ": seconds between probes")) && p.startingAtRestart()
		},
	},
	{
		"after a restart of podctl a pod that was terminating has the rest of its grace period",
		func(p *comparing, d Difference) bool {
			return (sinceRestart(d) || strings.Contains(d.What, " Stop") || strings.HasSuffix(d.What, ": exit")) && p.stoppingAtRestart()
		},
	},
	{
		"hints of a pod wait while an operation changes it",
		// Each sync asks at once what is not ready, and a kubelet has more of them.
		func(_ *comparing, d Difference) bool {
			a, b := slices.Clone(d.states[0]), slices.Clone(d.states[1])
			for _, runs := range [][]run{a, b} {
				for i := range runs {
					runs[i].state = strings.Replace(runs[i].state, "running ready", "running", 1)
				}
			}
			return strings.HasPrefix(d.What, "status ") && len(a) > 0 && len(b) > 0 && hasReady(d.states[0]) && !hasReady(d.states[1]) && !lacks(a, b) && !lacks(b, a)
		},
	},
	{
		"a container that has ended for good has no probes",
		// A kubelet makes its liveness probe's worker anew in each sync, which finds that the container does
		// not run, and asks for a sync: once a second, and each asks what is not ready.
		func(p *comparing, d Difference) bool {
			return strings.HasSuffix(d.What, ": seconds between probes") && p.hasEndedForGood() && number(d.Kubelet) < number(d.Podctl)
		},
	},
	{
		"the runtime's events are hints, each of which triggers a relist of its pod",
		// A kubelet's next relist is up to a second after an exit: until then it probes what has ended. The
		// last probe before an exit may come on one node only.
		func(p *comparing, d Difference) bool {
			container, ok := strings.CutPrefix(d.What, "events Unhealthy of ")
			return ok && d.Podctl == "0" && p.onlyAtExits(container, "Unhealthy")
		},
	},
	{
		"a pod whose manifest is removed is probed for readiness until it has stopped",
		func(p *comparing, d Difference) bool {
			return strings.HasPrefix(d.What, "events Unhealthy ") && d.Kubelet == "0" && len(p.pod.Acts) > 1
		},
	},
}

// rowOf is how the row begins that explains a difference, "" if none does.
func (p *comparing) rowOf(d Difference) string {
	for _, r := range rows {
		if r.explains(p, d) {
			return r.begins
		}
	}
	return ""
}

// hasCanceled reports whether a call of podctl's was cancelled.
func (p *comparing) hasCanceled() bool {
	canceled := func(s Step) bool { return s.Code == "Canceled" }
	return slices.ContainsFunc(sandboxes(p.podctl.Life), func(sandbox *Attempt) bool {
		for _, runs := range sandbox.Containers {
			if slices.ContainsFunc(runs, func(run *Attempt) bool { return slices.ContainsFunc(run.Steps, canceled) }) {
				return true
			}
		}
		return slices.ContainsFunc(sandbox.Steps, canceled)
	})
}

// sinceRestart reports whether a difference may be of what came after the nodes were started again.
func sinceRestart(d Difference) bool {
	return strings.Contains(d.What, "since the restart") || later.MatchString(d.What) || strings.HasPrefix(d.What, "status ") || strings.HasPrefix(d.What, "events ")
}

// hasEndedForGood reports whether a container of the pod has ended and is not started again.
func (p *comparing) hasEndedForGood() bool {
	return strings.Contains(p.pod.Acts[0].Manifest, "livenessProbe") && slices.ContainsFunc(p.podctl.Statuses, func(s Sample) bool {
		return s.Status.Phase == v1.PodRunning && slices.ContainsFunc(s.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Terminated != nil })
	})
}

// onlyAtExits reports whether each event of the kubelet for this reason came when the container was about to
// end, or shortly after that.
func (p *comparing) onlyAtExits(container, reason string) bool {
	ending := func(at time.Time) bool {
		return slices.ContainsFunc(sandboxes(p.kubelet.Life), func(sandbox *Attempt) bool {
			return slices.ContainsFunc(sandbox.Containers[container], func(run *Attempt) bool {
				since := at.Sub(run.Exit.At)
				return since > -time.Second && since < slack
			})
		})
	}
	return !slices.ContainsFunc(p.kubelet.Events, func(e Event) bool { return e.Container == container && e.Reason == reason && !ending(e.At) })
}

// number is that with which a text begins, 0 if there is none.
func number(text string) (n float64) {
	_, _ = fmt.Sscan(text, &n)
	return n
}

// between shows a container that waits for a start in one way.
func between(runs []run) []run {
	runs = slices.Clone(runs)
	for i := range runs {
		runs[i].state = betweens.ReplaceAllString(runs[i].state, "between")
	}
	return runs
}

// runOf is the run of which a status is, with its sandbox; nil if there is none.
func runOf(s *Side, what string) (run, sandbox *Attempt) {
	var name string
	var number int
	if _, err := fmt.Sscanf(strings.ReplaceAll(what, ",", " "), "status of %s run %d", &name, &number); err != nil {
		return nil, nil
	}
	for _, sandbox := range sandboxes(s.Life) {
		if runs := sandbox.Containers[name]; number < len(runs) {
			return runs[number], sandbox
		}
		number -= len(sandbox.Containers[name])
	}
	return nil, nil
}

// isBrief reports whether a run was so short that a status which lasts shows it only if it is old.
func isBrief(s *Side, what string) bool {
	run, _ := runOf(s, what)
	return run != nil && !run.Exit.At.IsZero() && run.Exit.At.Sub(run.Steps[0].At) < time.Duration(lasting)*time.Second
}

// stopsInSync reports whether the sync that started a run, of which a status is, went on for longer than
// statuses may differ, because it stopped a container whose postStart hook had failed.
func stopsInSync(s *Side, what string) bool {
	run, sandbox := runOf(s, what)
	if run == nil {
		return false
	}
	started := run.Steps[0].At
	for _, attempts := range sandbox.Containers {
		for _, a := range attempts {
			stop := a.first("StopContainer")
			if !slices.Contains(attempts, run) && stop > 0 && a.Steps[stop-1].Method == "ExecSync" && a.Steps[stop].At.Sub(a.Steps[stop-1].End) < time.Second &&
				a.Steps[stop].At.Sub(started).Abs() < slack && a.Steps[stop].End.Sub(a.Steps[stop].At) > time.Duration(lasting)*time.Second {
				return true
			}
		}
	}
	return false
}

func hasReady(runs []run) bool {
	return slices.ContainsFunc(runs, func(r run) bool { return strings.HasPrefix(r.state, "running ready") })
}

// restartsAlways reports whether the containers of the pod are restarted however they end.
func (p *comparing) restartsAlways() bool {
	return !slices.Contains([]v1.RestartPolicy{v1.RestartPolicyNever, v1.RestartPolicyOnFailure}, p.manifest().Spec.RestartPolicy)
}

// manifest is the pod as it was first asked for.
func (p *comparing) manifest() *v1.Pod {
	pod := &v1.Pod{}
	_ = yaml.Unmarshal([]byte(p.pod.Acts[0].Manifest), pod) // the plan has made it
	return pod
}

// comesBack reports whether the same pod is removed and asked for again.
func (p *comparing) comesBack() bool {
	acts := p.pod.Acts
	return len(acts) == 3 && acts[0].Manifest == acts[2].Manifest
}

// endedBeforeRestart reports whether the pod had failed or succeeded when the nodes were killed.
func (p *comparing) endedBeforeRestart() bool {
	for _, s := range p.podctl.Statuses {
		if s.At.Sub(p.podctl.Began) < p.restart && (s.Status.Phase == v1.PodFailed || s.Status.Phase == v1.PodSucceeded) {
			return true
		}
	}
	return false
}

// startingAtRestart reports whether a container ran, and its startup probe had not succeeded, when the
// nodes were killed.
func (p *comparing) startingAtRestart() bool {
	starting := func(c v1.ContainerStatus) bool { return c.State.Running != nil && c.Started != nil && !*c.Started }
	return slices.ContainsFunc(p.podctl.Statuses, func(s Sample) bool {
		before := p.restart - s.At.Sub(p.podctl.Began)
		return before > 0 && before < slack && slices.ContainsFunc(slices.Concat(s.Status.InitContainerStatuses, s.Status.ContainerStatuses), starting)
	})
}

// downtime is how long a kubelet takes to start again, at most.
const downtime = 15 * time.Second

// stoppingAtRestart reports whether the pod was told to stop, and had not stopped, when the
// nodes were killed, or while they were away.
func (p *comparing) stoppingAtRestart() bool {
	if p.restart == 0 {
		return false
	}
	for _, act := range p.pod.Acts[1:] {
		if act.At > p.restart-downtime && act.At < p.restart+downtime {
			return true
		}
	}
	return false
}
