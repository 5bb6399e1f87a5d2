package main

import (
	"testing"
	"time"
)

// needing is a pod that requests so much cpu.
func needing(name, cpu, more string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  terminationGracePeriodSeconds: 2
  ` + more + `
  containers:
  - {name: c, image: busybox, command: [sleep, "3600"], resources: {requests: {cpu: ` + cpu + `}}}
---
`
}

const criticalClass = "priorityClassName: system-node-critical"

// A pod that does not fit has failed with the kubelet's reason, and the others
// go on.
func TestRunOfAPodThatDoesNotFit(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(needing("a", "600m", "")+needing("b", "500m", ""), "--capacity", "cpu=1")
		c.printed("default/b             Failed     OutOfcpu: node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000\n",
			"default/a             Pending    c started")
		c.goesOn()
		c.interrupt()
		c.ends(130, 10*time.Second)
		w.holds(0)
	})
}

// Where nothing fits there is nothing to wait for.
func TestRunOfNothingThatFits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(needing("b", "1500m", ""), "--capacity", "cpu=1")
		c.ends(1, time.Second)
		expect(t, c.errw.String(), "podctl: run: 1 of 1 pods failed\n",
			"  default/b: OutOfcpu: Node didn't have enough resource: cpu, requested: 1500, used: 0, capacity: 1000\n",
			"hint: podctl preempt --dry-run -f FILE")
	})
}

// A critical pod of a run evicts the pods that it must, and the run has failed because
// of that one.
func TestRunOfACriticalPodOnAFullNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(needing("a", "600m", "")+needing("b", "400m", "")+needing("dns", "500m", criticalClass), "--capacity", "cpu=1", "--wait-timeout", "30s")
		c.printed("default/dns           Pending    waits until default/a has ended to make room\n",
			"default/a             Failed     the pod has failed: Preempting: Preempted in order to admit critical pod\n",
			"default/dns           Pending    c started")
		c.ends(1, time.Minute)
		expect(t, c.errw.String(), "podctl: run: 3 of 3 pods are not complete after 30s\n",
			"  default/a: Preempting: Preempted in order to admit critical pod\n", "  default/b is running\n", "  default/dns is running\n")
		w.holds(0)
	})
}

// preempt evicts no pod: without --dry-run it refuses, and says who preempts.
func TestPreemptEvictsNoPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(needing("a", "600m", "")+needing("b", "400m", ""), "--capacity", "cpu=1")
		dns := w.file("dns.yaml", needing("dns", "500m", criticalClass))
		out := w.ran(0, time.Second, "preempt", "--dry-run", "-f", dns)
		expect(t, out, "has 110 pods, 1 cpu", "used 2 pods, 1 cpu", "default/a  Burstable  0         600m 0    victim 1")
		expect(t, w.ran(2, 10*time.Second, "preempt", "-f", dns), "preempt evicts no pod: a podctl that runs a critical pod preempts by itself", "hint: add --dry-run")
		expect(t, w.ran(0, time.Second, "preempt", "--dry-run", "-f", dns), "used 2 pods, 1 cpu")
		c.interrupt()
		c.ends(130, 10*time.Second)
		w.holds(0)
	})
}
