package conform

import (
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// times are the times that a container wrote by the step stamp.
func (s *Observation) times(container string) []time.Time {
	var all []time.Time
	for _, l := range s.text(container) {
		if n, err := strconv.ParseInt(l, 10, 64); err == nil {
			all = append(all, time.Unix(0, n))
		}
	}
	return all
}

// inOrder fails unless the containers wrote one time each, ascending.
func (s *Observation) inOrder(c *Check, containers ...string) {
	var last time.Time
	for _, name := range containers {
		t := s.times(name)
		if len(t) == 0 {
			c.Fail("%s did not run: %s", name, s.state(name))
			return
		}
		c.That(!t[0].Before(last), "%s began before the one before it had ended", name)
		last = t[len(t)-1]
	}
}

var lifecycle = []Behaviour{
	{
		Name: "exit-codes", About: "exit codes, reasons and times of containers that end by themselves",
		Spec: `containers: [{name: zero, args: [facts]}, {name: three, args: ["sleep:1s", "exit:3"]}]
`,
		Judge: func(s *Observation, c *Check) {
			zero, three := s.exit("zero"), s.exit("three")
			c.Equal("zero", []any{zero.ExitCode, zero.Reason}, []any{int32(0), "Completed"})
			c.Equal("three", []any{three.ExitCode, three.Reason}, []any{int32(3), "Error"})
			ran := three.FinishedAt.Sub(three.StartedAt.Time)
			c.That(ran >= 500*time.Millisecond && ran < time.Minute, "three ran from %s to %s, want a second", three.StartedAt, three.FinishedAt)
			c.Equal("the phase", s.Ended.Phase, v1.PodFailed)
		},
	},
	{
		Name: "termination-message", About: "from terminationMessagePath, else from the log of one that failed",
		Spec: `containers:
- {name: file, args: ["write:/dev/termination-log=from the file", "exit:1"]}
- {name: path, terminationMessagePath: /tmp/why, args: ["write:/tmp/why=from a path"]}
- {name: log, terminationMessagePolicy: FallbackToLogsOnError, args: ["out:out", "err:err", "exit:1"]}
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("of the file", s.exit("file").Message, "from the file")
			c.Equal("of a path", s.exit("path").Message, "from a path")
			log := s.exit("log").Message // the two streams are read side by side
			c.That(log == "out\nerr\n" || log == "err\nout\n", "of the log is %q", log)
		},
	},
	{
		Name: "restart", About: "a container that fails is started again in the same sandbox, with its count and last state",
		Spec: `restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers: [{name: c, args: [facts, "once:/v/x=5", "await:TERM"], volumeMounts: [{name: v, mountPath: /v}], readinessProbe: {exec: {command: [/podctl-conform, conform-probe]}, initialDelaySeconds: 1}}]
`,
		Until: func(s v1.PodStatus) bool { return restarted(s) && ready(s) },
		Judge: func(s *Observation, c *Check) {
			status := s.Status.ContainerStatuses[0]
			c.Equal("restarts", status.RestartCount, int32(1))
			if last := status.LastTerminationState.Terminated; last == nil || last.ExitCode != 5 {
				c.Fail("the last state is %v, want exit 5", last)
			}
			var nets, attempts []string
			for _, l := range s.Lines["c"] {
				if f := (&Observation{Lines: map[string][]Line{"c": {l}}}).facts(&Check{}, "c"); f.Namespaces != nil {
					nets, attempts = append(nets, f.Namespaces["net"]), append(attempts, strconv.Itoa(l.Attempt))
				}
			}
			c.Equal("the attempts that wrote a log", attempts, []string{"0", "1"})
			c.That(len(slices.Compact(nets)) == 1, "the attempts have different networks: %v", nets)
		},
	},
	{
		Name: "init-order", About: "init containers run one after the other, before the others",
		Spec: `initContainers: [{name: i1, args: [stamp, "sleep:300ms", stamp]}, {name: i2, args: [stamp, "sleep:300ms", stamp]}]
containers: [{name: c, args: [stamp]}]
`,
		Judge: func(s *Observation, c *Check) { s.inOrder(c, "i1", "i2", "c") },
	},
	{
		Name: "init-fails", About: "an init container that fails is tried again, and the others wait",
		Spec: `restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
initContainers: [{name: i, args: ["once:/v/x=4"], volumeMounts: [{name: v, mountPath: /v}]}]
containers: [{name: c, args: ["out:ran"]}]
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("restarts of the init container", s.container("i").RestartCount, int32(1))
			c.Equal("what the container wrote", s.text("c"), []string{"ran"})
		},
	},
	{
		Name: "sidecar", About: "a sidecar starts before the containers, and is stopped after them",
		Spec: `initContainers: [{name: side, restartPolicy: Always, args: [stamp, "await:TERM", stamp]}]
containers: [{name: c, args: [stamp, "sleep:500ms", stamp]}]
`,
		Judge: func(s *Observation, c *Check) {
			side, own := s.times("side"), s.times("c")
			if len(side) != 2 || len(own) != 2 {
				c.Fail("the sidecar wrote %d times, the container %d, want 2 each", len(side), len(own))
				return
			}
			c.That(side[0].Before(own[0]), "the sidecar started after the container")
			c.That(side[1].After(own[1]), "the sidecar was stopped before the container had ended")
			c.Equal("the phase", s.Ended.Phase, v1.PodSucceeded)
		},
	},
	{
		Name: "hooks", About: "postStart runs in the container at its start, preStop before the stop signal",
		Spec: `volumes: [{name: v, emptyDir: {}}]
containers:
- name: c
  args: ["await:TERM", "read:/v/started", "read:/v/stopping"]
  volumeMounts: [{name: v, mountPath: /v}]
  lifecycle:
    postStart: {exec: {command: [/podctl-conform, conform-probe, "write:/v/started=postStart"]}}
    preStop: {exec: {command: [/podctl-conform, conform-probe, "sleep:500ms", "write:/v/stopping=preStop"]}}
`,
		Until: running,
		Judge: func(s *Observation, c *Check) {
			c.Equal("what it wrote at its end", s.text("c"), []string{"signal SIGTERM", "postStart", "preStop"})
		},
	},
	{
		Name: "grace-period", About: "a container that ignores SIGTERM is killed when its grace period is over, not before",
		Spec: `terminationGracePeriodSeconds: 2
containers: [{name: c, args: ["ignore:TERM", "sleep:1h"], readinessProbe: {exec: {command: [/podctl-conform, conform-probe]}, initialDelaySeconds: 1}}]
`,
		Until: ready,
		Judge: func(s *Observation, c *Check) {
			c.Equal("the exit code", s.exit("c").ExitCode, int32(137))
			c.That(s.StopTook >= 2*time.Second, "it was killed after %s, want 2 s", s.StopTook.Round(time.Millisecond))
			c.That(s.StopTook < 20*time.Second, "it was killed after %s, want 2 s", s.StopTook.Round(time.Second))
		},
	},
	{
		Name: "stop-signal", About: "lifecycle.stopSignal is the signal that asks it to end",
		Spec: `os: {name: linux}
containers: [{name: c, args: ["await:TERM,USR1"], lifecycle: {stopSignal: SIGUSR1}, readinessProbe: {exec: {command: [/podctl-conform, conform-probe]}, initialDelaySeconds: 1}}]
`,
		Until: ready,
		Judge: func(s *Observation, c *Check) { c.Equal("the signal", s.text("c"), []string{"signal SIGUSR1"}) },
	},
	{
		Name: "probes", About: "a startup and a readiness probe by HTTP; a liveness probe by exec that fails restarts the container",
		Spec: `restartPolicy: Always
volumes: [{name: v, emptyDir: {}}]
containers:
- name: c
  args: ["listen::8080=fine", "await:TERM"]
  volumeMounts: [{name: v, mountPath: /v}]
  startupProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
  readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
  livenessProbe: {exec: {command: [/podctl-conform, conform-probe, "once:/v/x=1"]}, periodSeconds: 1, failureThreshold: 1}
`,
		Until: func(s v1.PodStatus) bool { return restarted(s) && ready(s) },
		Judge: func(s *Observation, c *Check) {
			last := s.Status.ContainerStatuses[0].LastTerminationState.Terminated
			c.That(last != nil && last.ExitCode == 0, "the last state is %v, want an end by SIGTERM with exit 0", last)
		},
	},
	{
		Name: "events", About: "the runtime's events tell of the creation, start, end and removal of a container",
		Spec: `containers: [{name: c, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			if s.Events == nil {
				c.Unsupported("the runtime has no events, or gives each to one subscriber only")
				return
			}
			for _, want := range []string{"created", "running", "exited", "deleted"} {
				c.That(slices.Contains(s.Events, want), "no event said that a container is %s", want)
			}
		},
	},
}
