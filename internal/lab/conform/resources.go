package conform

var resources = []Behaviour{
	{
		Name: "limits", About: "limits and requests are those of the container's cgroup",
		Spec: `containers: [{name: c, args: [facts], resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the memory limit", f.MemoryLimit, int64(128<<20))
			c.Equal("the CPU limit", f.CPULimit, 0.5)
			c.That(f.CPUShares > 200 && f.CPUShares < 300, "the CPU shares are %d, want about 256", f.CPUShares)
		},
	},
	{
		Name: "best-effort", About: "a pod without requests: no limits, the least CPU shares, the first to be killed for memory",
		Spec: `containers: [{name: c, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the memory limit", f.MemoryLimit, int64(0))
			c.Equal("the CPU limit", f.CPULimit, 0.0)
			c.That(f.CPUShares <= 3, "the CPU shares are %d, want 2", f.CPUShares)
			c.Equal("oom_score_adj", f.OOM, 1000)
		},
	},
	{
		Name: "guaranteed", About: "a pod whose requests are its limits is the last to be killed for memory",
		Spec: `containers: [{name: c, args: [facts], resources: {limits: {cpu: 100m, memory: 128Mi}}}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			shim := s.Host.OOM + 1 // containerd's, which crun before 1.9 leaves where the runtime asks for 0
			if (f.OOM == s.Host.OOM || f.OOM == shim) && f.OOM != -997 {
				c.Unsupported("this host, or the runtime's configuration, lets no process lower its oom_score_adj")
				return
			}
			c.Equal("oom_score_adj", f.OOM, -997)
		},
	},
	{
		Name: "oom-kill", About: "a container over its memory limit ends with 137 and reason OOMKilled, and the others run on",
		Spec: `containers: [{name: other, args: ["await:TERM"]}, {name: c, args: ["sleep:2s", "eat:300"], resources: {limits: {memory: 100Mi}}}]
`,
		Until: hasExited("c"),
		Judge: func(s *Observation, c *Check) {
			c.Equal("the exit code", s.exit("c").ExitCode, int32(137))
			c.Equal("the reason", s.exit("c").Reason, "OOMKilled")
			c.Equal("how the other one ended", s.text("other"), []string{"signal SIGTERM"})
		},
	},
	{
		Name: "oom-kill-of-a-child", About: "a container that goes on after a child was killed for memory, and exits with 0, is Completed",
		Spec: `containers: [{name: c, args: ["child:eat:300", "sleep:1s"], resources: {limits: {memory: 200Mi}}}]
`,
		Judge: func(s *Observation, c *Check) {
			exit := s.exit("c")
			if exit.ExitCode == 137 { // the kernel kills all processes of the cgroup
				c.Equal("the reason of exit 137", exit.Reason, "OOMKilled")
				return
			}
			c.Equal("what became of the child", s.text("c"), []string{"child: signal: killed"})
			c.Equal("exit code and reason", []any{exit.ExitCode, exit.Reason}, []any{int32(0), "Completed"})
		},
	},
	{
		Name: "stats", About: "CPU and memory of a container that uses both",
		Spec: `containers: [{name: c, args: ["eat:50", "spin:1s", "write:/dev/shm/done=", "await:TERM"], readinessProbe: {exec: {command: [/podctl-conform, conform-probe, "exists:/dev/shm/done"]}, periodSeconds: 1}}]
`,
		Until: ready,
		Asks:  []Ask{{Container: "c", Stats: true}},
		Judge: func(s *Observation, c *Check) {
			a := s.Answers[0]
			if a.Err != nil {
				c.Fail("no statistics: %v", a.Err)
				return
			}
			c.That(a.CPUNanoseconds >= 1e9 && a.CPUNanoseconds < 30e9, "the CPU time is %d ns, want about 1 s", a.CPUNanoseconds)
			c.That(a.MemoryBytes > 50<<20 && a.MemoryBytes < 500<<20, "the working set is %d bytes, want more than 50 MiB", a.MemoryBytes)
		},
	},
}
