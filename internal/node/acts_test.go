package node

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod/event"
)

// actsByName are the acts of a history. An act whose object is not there does nothing, so that any
// act before it may be left out.
var actsByName = map[string]func(h *history, args []string){
	"wait": func(h *history, args []string) { time.Sleep(h.duration(args[0])) }, // DURATION

	// Pods are asked for: want [partly] [settings=N] NAME/VERSION…
	"want": func(h *history, args []string) {
		partly, n := false, 0
		for len(args) > 0 && !strings.Contains(args[0], "/") {
			if key, value, _ := strings.Cut(args[0], "="); key == "settings" {
				n = h.number(value)
			} else {
				partly = true
			}
			args = args[1:]
		}
		h.want(partly, settings(n), args...)
	},
	"stop":    func(h *history, args []string) { h.order(args[0], (*podctl).stopNamed) },
	"start":   func(h *history, args []string) { h.order(args[0], (*podctl).startNamed) },
	"evict":   func(h *history, args []string) { h.order(args[0], (*podctl).evictForCritical) },
	"restart": func(h *history, args []string) { h.order(args[0], (*podctl).restartNamed) },

	// podctl: kill hard|soft, drain; and another one beside it. The next one has its name, or
	// one of its own after "rename".
	"rename": func(h *history, _ []string) { h.renamed = true },
	"kill":   func(h *history, args []string) { h.kill(&h.podctl, args[0] == "hard") },
	"drain":  func(h *history, _ []string) { h.drain(&h.podctl) },
	"beside": func(h *history, refs []string) {
		if h.beside == nil {
			h.beside = h.launch(h.newName(), h.desire(refs), nil)
		}
	},
	"beside-kill":  func(h *history, args []string) { h.kill(&h.beside, args[0] == "hard") },
	"beside-drain": func(h *history, _ []string) { h.drain(&h.beside) },

	// The runtime dies and comes back; what it runs dies; its calls go wrong.
	"crash":   func(h *history, _ []string) { h.crashRuntime() },
	"recover": func(h *history, _ []string) { h.restartRuntime() },
	"sandbox-dies": func(h *history, args []string) {
		if all := h.judge.ownSandboxes(); len(all) > 0 {
			h.sim.KillSandbox(all[h.number(args[0])%len(all)].Id)
		}
	},
	"container-dies": func(h *history, args []string) {
		if all := slices.DeleteFunc(h.judge.containers(), func(c *runtimeapi.Container) bool { return !isRunning(c) }); len(all) > 0 {
			id := all[h.number(args[0])%len(all)].Id
			h.judge.noteKilled(id)
			h.sim.KillContainer(id)
		}
	},
	"fault": func(h *history, args []string) { // a rule, as podctl proxy takes it
		rule := strings.Join(args, " ")
		h.fault(rule)
		if rule == "method=PodSandboxStatus hang" {
			h.silence = hungSilence
			h.onCalm(func() { h.silence = 0 })
		}
	},
	"network": func(h *history, _ []string) {
		h.sim.SetNetwork("cni plugin not initialized")
		h.onCalm(func() { h.sim.SetNetwork("") })
	},
	"no-events": func(h *history, _ []string) { // their stream ends at once
		h.sim.SetEvents(sim.EventsEOF)
		h.onCalm(func() { h.sim.SetEvents(sim.EventsBroadcast) })
	},
	"rule": func(h *history, args []string) { h.rule(args[0], len(args) > 1) }, // NAME [whole]: a file of examples/faults
	"calm": func(h *history, _ []string) { h.calm() },
	// Not drawn: pods must do what their manifests say by now, whatever is wrong; and the runtime's sandboxes that
	// are not ready are removed.
	"must-match": func(h *history, refs []string) { h.mustMatch(refs) },
	"forget": func(h *history, _ []string) {
		for _, s := range h.judge.ownSandboxes() {
			if !isReadySandbox(s) {
				_, _ = h.sim.RemovePodSandbox(h.t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Id})
			}
		}
	},

	// The disks of podctl and of the runtime are full, until calm.
	"disk-full": func(h *history, args []string) {
		if args[0] == "podctl" {
			h.judge.setNoRecords(true)
			h.onCalm(func() { h.judge.setNoRecords(false) })
			h.onCalm(fillDisk(h.t))
			return
		}
		for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer", "PullImage"} {
			h.fault("method=" + method + ` error=Unknown message="write /var/lib/podctl-sim/io: no space left on device"`)
		}
	},
	// The clock is set, as far as the runtime's dates go.
	"clock": func(h *history, args []string) { h.setBy.Add(int64(h.duration(args[0]))) },

	// A pod comes that podctl did not create: KIND NAME NAME/VERSION ATTEMPT COMMAND, with the
	// UID of one that may be asked for; or one goes.
	"foreign":      func(h *history, args []string) { h.addForeign(args) },
	"foreign-goes": func(h *history, args []string) { h.removeForeign(h.number(args[0])) },
}

func (h *history) act(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	do := actsByName[verb]
	if do == nil {
		h.t.Fatalf("there is no act %q", verb)
	}
	do(h, strings.Fields(rest))
}

func (h *history) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func (h *history) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// order has something done to a pod by name, at the same time as all else. What comes of
// it depends on what the pod is doing; that it comes to an end, while podctl lives, does not.
func (h *history) order(name string, carryOut func(*podctl, context.Context, string) error) {
	p := h.podctl
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	h.orders.Go(func() {
		defer cancel()
		h.bounded("an order about "+name, time.Minute, func() {
			var notRunning *NotRunningError
			var unrecorded *UnrecordedError
			switch err := carryOut(p, ctx, name); {
			case err == nil, errors.Is(err, ErrNoPod), errors.Is(err, ErrKillTimeout), errors.Is(err, context.DeadlineExceeded):
			case errors.Is(err, ErrNotStopped), errors.As(err, &notRunning), errors.As(err, &unrecorded):
			case isDiskFull(err):
			default:
				h.t.Error(err)
			}
		})
	})
}

func (p *podctl) stopNamed(ctx context.Context, name string) error {
	return p.Stop(ctx, "default", name, nil)
}

func (p *podctl) startNamed(ctx context.Context, name string) error {
	return p.Start(ctx, "default", name)
}

func (p *podctl) evictForCritical(ctx context.Context, name string) error {
	return p.evictNamed(ctx, name, event.Eviction{Cause: event.Preempted})
}

// restartNamed has the first container restarted; one that cannot be is not.
func (p *podctl) restartNamed(_ context.Context, name string) error {
	_ = p.Restart("default", name, map[string]string{"c": ""}, false)
	return nil
}
