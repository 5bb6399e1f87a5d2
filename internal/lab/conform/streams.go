package conform

import (
	"slices"
	"strings"
	"time"
)

var streams = []Behaviour{
	{
		Name: "logs", About: "the format of logs: time, stream, tag; long lines in parts; streams apart",
		Spec: `containers: [{name: c, args: ["out:to stdout", "err:to stderr", "long:40000"]}]
`,
		Judge: func(s *Observation, c *Check) {
			lines := s.Lines["c"]
			if len(lines) != 3 {
				c.Fail("it wrote %d lines, want 3", len(lines))
				return
			}
			slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(b.Text, a.Text) })
			long, out, err := lines[0], lines[1], lines[2]
			c.Equal("the stream of one", out.Stream, "stdout")
			c.Equal("the stream of the other", err.Stream, "stderr")
			c.Equal("the length of the long line", len(long.Text), 40000)
			c.That(len(long.Raw) > 1 && len(long.Raw) < 10, "the long line has %d parts", len(long.Raw))
			for i, raw := range long.Raw {
				parts := strings.SplitN(raw, " ", 4)
				if _, err := time.Parse(time.RFC3339Nano, parts[0]); err != nil || len(parts) != 4 {
					c.Fail("a line begins with %.60q", raw)
					return
				}
				c.Equal("the tag of a part", parts[2], map[bool]string{true: "F", false: "P"}[i == len(long.Raw)-1])
			}
		},
	},
	{
		Name: "tty", About: "tty: the output is a terminal, and all of it is stdout",
		Spec: `containers: [{name: c, tty: true, args: ["facts:", "err:to stderr"]}]
`,
		Judge: func(s *Observation, c *Check) {
			c.That(s.facts(c, "c").TTY, "the output is no terminal")
			for _, l := range s.Lines["c"] {
				c.Equal("the stream", l.Stream, "stdout")
			}
		},
	},
	{
		Name: "exec", About: "exec has the container's user, environment, directory, namespaces and limits; streams and exit code",
		Spec: `containers:
- name: c
  workingDir: /dev
  env: [{name: A, value: a}]
  args: [facts, "await:TERM"]
  securityContext: {runAsUser: 1000, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}, allowPrivilegeEscalation: false}
  resources: {limits: {memory: 128Mi}}
`,
		Until: running,
		Asks:  []Ask{{Container: "c", Exec: []string{"err:to stderr", "facts", "exit:7"}}},
		Judge: func(s *Observation, c *Check) {
			a := s.Answers[0]
			if a.Err != nil {
				c.Fail("exec: %v", a.Err)
				return
			}
			c.Equal("the exit code", a.Code, 7)
			c.Equal("stderr", a.Stderr, "to stderr\n")
			inner := (&Observation{Lines: map[string][]Line{"exec": {{Text: strings.TrimSpace(a.Stdout)}}}}).facts(c, "exec")
			outer := s.facts(c, "c")
			c.Equal("the user", inner.UID, outer.UID)
			c.Equal("the directory", inner.Dir, outer.Dir)
			c.Equal("A", inner.Env["A"], "a")
			c.Equal("the namespaces", inner.Namespaces, outer.Namespaces)
			c.Equal("the memory limit", inner.MemoryLimit, outer.MemoryLimit)
			for _, name := range []string{"CapEff", "CapBnd", "CapInh", "NoNewPrivs", "Seccomp"} {
				c.Equal(name, inner.Status[name], outer.Status[name])
			}
		},
	},
	{
		Name: "port-forward", About: "port-forward reaches a server that listens at localhost of the pod",
		Spec: `containers: [{name: c, args: ["listen:127.0.0.1:8081=forwarded", "await:TERM"], readinessProbe: {exec: {command: [/podctl-conform, conform-probe, "get:127.0.0.1:8081"]}, periodSeconds: 1}}]
`,
		Until: ready,
		Asks:  []Ask{{Port: 8081}},
		Judge: func(s *Observation, c *Check) {
			c.That(s.Answers[0].Err == nil, "%v", s.Answers[0].Err)
			c.Equal("what was read", s.Answers[0].Stdout, "forwarded")
		},
	},
}
