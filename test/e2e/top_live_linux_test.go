package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// users are a pod that burns CPU at its limit, one that holds 64 MiB, and one whose
// container the kernel kills.
const users = `
apiVersion: v1
kind: Pod
metadata: {name: busy}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: burn
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "while :; do :; done"]
    resources: {limits: {cpu: 200m, memory: 32Mi}}
  - name: hold
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "dd if=/dev/zero of=/m/f bs=1M count=64; echo held; sleep 1000"]
    volumeMounts: [{name: m, mountPath: /m}]
  volumes: [{name: m, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Pod
metadata: {name: hungry}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: eat
    image: IMAGE
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "echo loading; tail /dev/zero"]
    resources: {limits: {memory: 32Mi}}
`

// used is an item of `podctl top -o json`.
type used struct {
	Metadata  struct{ Name string }
	Container string
	CPU       struct {
		Cores            *float64
		LimitCores       *float64
		PercentOfLimit   *float64
		ThrottledPercent *float64
	}
	Memory struct {
		WorkingSetBytes *float64
		LimitBytes      *float64
		SwapBytes       *float64
	}
	PIDs *float64
	PSI  struct {
		CPU     *struct{ SomeAvg10 *float64 }
		Unknown string
	}
	Network *struct{ ReceivedBytesPerSecond float64 }
	Disk    *float64 `json:"writableLayerBytes"`
}

// described are the facts of `podctl describe -o json` that are looked at.
type described struct {
	Metadata   struct{ Name string }
	Owner      struct{ Kind string }
	Sandbox    struct{ State, NetworkNamespace string }
	Containers []struct {
		Name, State  string
		PID          int
		LastLogLines []string
		Cgroup       *struct{ OOMKills *int }
		End          *struct {
			ExitCode int
			Cause    struct {
				Kind, Confidence, Text string
				Evidence               []string
			}
		}
	}
	Unread []struct{ Layer, Why string }
	Next   []string
}

func (p *place) reads(into any, args ...string) {
	p.t.Helper()
	out, errw, code := p.podctl(append(args, "-o", "json")...)
	if code != 0 || errw != "" {
		p.t.Fatalf("%v: exit %d\n%s", args, code, errw)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func within(n *float64, low, high float64) bool { return n != nil && *n >= low && *n <= high }

// Bounds are wide: the host may be busy.
func TestTopAndDescribeSeeEveryPod(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		p.plantIdle()
		proc := p.start(strings.ReplaceAll(users, "IMAGE", image.BusyboxName), "-")
		proc.prints("eat exited 137")

		var containers, pods []used
		eventually(t, "the container holds its memory", func() bool {
			p.reads(&containers, "top", "containers")
			return slices.ContainsFunc(containers, func(u used) bool { return u.Container == "hold" && within(u.Memory.WorkingSetBytes, 60<<20, 1<<30) })
		}, func() string { return p.outputs() })
		// A host that is busy may give a loop next to nothing for a second.
		eventually(t, "the loop has CPU time", func() bool {
			containers, pods = nil, nil
			p.reads(&containers, "top", "containers")
			p.reads(&pods, "top", "pods", "busy", "idle", "hungry")
			return slices.ContainsFunc(containers, func(u used) bool { return u.Container == "burn" && within(u.CPU.Cores, 0.05, 0.5) }) &&
				slices.ContainsFunc(pods, func(u used) bool { return u.Metadata.Name == "busy" && within(u.CPU.Cores, 0.05, 0.55) })
		}, func() string { return fmt.Sprintf("%+v %+v", containers, pods) })
		of := func(all []used, name string) used {
			for _, u := range all {
				if u.Container == name || u.Container == "" && u.Metadata.Name == name {
					return u
				}
			}
			t.Errorf("%s is missing in %+v", name, all)
			return used{}
		}
		if u := of(containers, "burn"); !within(u.CPU.Cores, 0.05, 0.5) || !within(u.CPU.LimitCores, 0.19, 0.21) || !within(u.CPU.PercentOfLimit, 25, 250) ||
			!within(u.CPU.ThrottledPercent, 0, 100) || *u.CPU.Cores > 0.19 && *u.CPU.ThrottledPercent < 1 || !within(u.Memory.LimitBytes, 32<<20, 32<<20) || !within(u.PIDs, 1, 50) || !within(u.Disk, 0, 1<<20) {
			t.Errorf("burn: %+v", u)
		} else if !within(u.Memory.SwapBytes, 0, 32<<20) || (u.PSI.CPU == nil || !within(u.PSI.CPU.SomeAvg10, 0, 100)) != (u.PSI.Unknown == "cgroup v1 has no PSI") {
			t.Errorf("burn: PSI %+v, swap %v", u.PSI, u.Memory.SwapBytes)
		}
		if u := of(containers, "hold"); !within(u.CPU.Cores, 0, 0.05) || u.CPU.LimitCores != nil || u.CPU.ThrottledPercent != nil {
			t.Errorf("hold: %+v", u)
		}
		if u := of(pods, "busy"); !within(u.CPU.Cores, 0.05, 0.55) || u.CPU.LimitCores != nil || !within(u.Memory.WorkingSetBytes, 60<<20, 1<<30) || u.Network == nil {
			t.Errorf("busy: %+v", u)
		}
		if u := of(pods, "idle"); !within(u.CPU.Cores, 0, 0.05) || !within(u.PIDs, 1, 10) {
			t.Errorf("a pod of another client: %+v", u)
		}
		if u := of(pods, "hungry"); u.CPU.Cores != nil || u.Memory.WorkingSetBytes != nil {
			t.Errorf("a pod of which nothing runs: %+v", u)
		}

		var facts []described
		eventually(t, "describe reads everything", func() bool {
			facts = nil
			p.reads(&facts, "describe", "hungry", "busy", "idle")
			return !slices.ContainsFunc(facts, func(f described) bool { return len(f.Unread) > 0 })
		}, func() string { return fmt.Sprintf("%+v", facts) })
		if len(facts) != 3 {
			t.Fatalf("%+v", facts)
		}
		for _, f := range facts {
			if len(f.Next) == 0 || f.Sandbox.NetworkNamespace == "" {
				t.Errorf("%+v", f)
			}
			switch f.Metadata.Name {
			case "hungry":
				c := f.Containers[0]
				if c.End == nil || c.End.ExitCode != 137 || c.End.Cause.Kind != "oom" || c.End.Cause.Confidence != "observed" ||
					len(c.End.Cause.Evidence) == 0 || !strings.Contains(c.End.Cause.Text, "32Mi") || !slices.Contains(c.LastLogLines, "loading") {
					t.Errorf("%+v, %+v", c, c.End)
				}
			case "busy":
				if f.Owner.Kind != "podctl" || len(f.Containers) != 2 || f.Containers[0].PID == 0 || f.Containers[0].Cgroup == nil {
					t.Errorf("%+v", f)
				}
			case "idle":
				if f.Owner.Kind != "other" || len(f.Containers) != 1 || f.Containers[0].State != "running" || f.Sandbox.State != "ready" {
					t.Errorf("%+v", f)
				}
			}
		}
		if out, errw, code := p.podctl("describe", "hungry"); code != 0 || errw != "" || !strings.Contains(out, "killed by the kernel: out of memory at its limit of 32Mi") || !strings.Contains(out, "\nhint: podctl logs ") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		follow := p.command("", p.cmd("top", "-w", "--interval", "200ms"))
		follow.prints("default/busy")
		follow.signal(syscall.SIGINT)
		if code := follow.wait(); code != 0 {
			t.Errorf("an interrupted watch exits %d", code)
		}
		proc.signal(syscall.SIGTERM)
		proc.wait()
	})
}

// plantIdle runs the pod idle with CRI calls alone, as crictl does, until the test ends.
func (p *place) plantIdle() {
	p.t.Helper()
	c := dialBare(p.t, p.rt)
	made, err := c.Start(p.t.Context(), bare.Spec{Name: "idle", Image: image.BusyboxName, Command: []string{"sleep", "600"}, LogDir: p.path("mark"), Unlabelled: true})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		ctx := context.WithoutCancel(p.t.Context())
		if err := c.End(ctx, made); err != nil {
			p.t.Error(err)
		}
		logs, _ := filepath.Glob(p.path("mark/*.log")) // of a pattern that is right
		for _, log := range logs {
			_ = os.Remove(log)
		}
	})
}
