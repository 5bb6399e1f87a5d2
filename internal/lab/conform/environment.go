package conform

import "slices"

var environment = []Behaviour{
	{
		Name: "env-expansion", About: "$(VAR) in env, args and command; $$ and undefined names stay",
		Spec: `containers:
- name: c
  env: [{name: A, value: a}, {name: B, value: "$(A)-b"}, {name: C, value: "$$(A)"}, {name: D, value: "$(NONE)"}]
  args: ["out:$(B)", "out:$$(B)", "out:$(NONE)", facts]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("B", f.Env["B"], "a-b")
			c.Equal("C", f.Env["C"], "$(A)")
			c.Equal("D", f.Env["D"], "$(NONE)")
			c.Equal("the arguments", s.text("c"), []string{"a-b", "$(B)", "$(NONE)"})
		},
	},
	{
		Name: "env-downward", About: "fields of the pod and resources of the container in env",
		Spec: `containers:
- name: c
  resources: {limits: {cpu: 500m, memory: 64Mi}, requests: {cpu: 100m, memory: 32Mi}}
  env:
  - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
  - {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
  - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
  - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
  - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
  - {name: REQUEST, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}
  args: [facts]
`,
		Judge: func(s *Observation, c *Check) {
			env := s.facts(c, "c").Env
			c.Equal("NAME", env["NAME"], "env-downward")
			c.Equal("NS", env["NS"], Namespace)
			c.Equal("UID", env["UID"], string(s.Spec.UID))
			c.Equal("IP", env["IP"], s.Status.PodIP)
			c.Equal("HOST", env["HOST"], s.Status.HostIP)
			c.Equal("CPU", env["CPU"], "1")
			c.Equal("MEMORY", env["MEMORY"], "67108864")
			c.Equal("REQUEST", env["REQUEST"], "100")
		},
	},
	{
		Name: "env-from", About: "envFrom with a prefix; env wins over envFrom, the later source over the earlier",
		Spec: `containers:
- name: c
  env: [{name: BOTH, value: env}]
  envFrom:
  - {prefix: P_, configMapRef: {name: env-from}}
  - {configMapRef: {name: env-from}}
  - {secretRef: {name: env-from}}
  args: [facts]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: env-from, namespace: podctl-conform}, data: {KEY: map, BOTH: map, TWICE: map}}
---
{apiVersion: v1, kind: Secret, metadata: {name: env-from, namespace: podctl-conform}, stringData: {TWICE: secret}}
`,
		Judge: func(s *Observation, c *Check) {
			env := s.facts(c, "c").Env
			for name, want := range map[string]string{"P_KEY": "map", "KEY": "map", "BOTH": "env", "TWICE": "secret"} {
				c.Equal(name, env[name], want)
			}
		},
	},
	{
		Name: "working-directory", About: "workingDir is made and entered; command replaces the image's entrypoint",
		Spec: `containers:
- name: c
  workingDir: /made/by/the/runtime
  command: [/podctl-conform, conform-probe]
  args: [facts]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the directory", f.Dir, "/made/by/the/runtime")
			c.Equal("the arguments", f.Args, []string{program, Command, "facts"})
		},
	},
	{
		Name: "hostname", About: "hostname and subdomain; setHostnameAsFQDN",
		Spec: `hostname: web
subdomain: sub
setHostnameAsFQDN: false
containers: [{name: c, args: ["facts:/etc/hostname,/etc/hosts"]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the hostname", f.Hostname, "web")
			c.Equal("HOSTNAME", f.Env["HOSTNAME"], "web")
			c.Equal("/etc/hostname", fields(f.Files["/etc/hostname"].Content), []string{"web"})
			c.That(slices.Contains(fields(f.Files["/etc/hosts"].Content), s.Status.PodIP), "/etc/hosts does not have the pod's address %s", s.Status.PodIP)
		},
	},
	{
		Name: "host-aliases", About: "/etc/hosts is the pod's, with its aliases, in every container",
		Spec: `hostAliases: [{ip: 192.0.2.9, hostnames: [one.example, two.example]}]
containers: [{name: a, args: ["facts:/etc/hosts"]}, {name: b, args: ["facts:/etc/hosts"]}]
`,
		Judge: func(s *Observation, c *Check) {
			for _, name := range []string{"a", "b"} {
				words := fields(s.facts(c, name).Files["/etc/hosts"].Content)
				for _, want := range []string{"192.0.2.9", "one.example", "two.example", "localhost", "host-aliases"} {
					c.That(slices.Contains(words, want), "/etc/hosts of %s does not have %s", name, want)
				}
			}
		},
	},
	{
		Name: "dns", About: "dnsPolicy None: /etc/resolv.conf is dnsConfig and nothing else",
		Spec: `dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53], searches: [a.example, b.example], options: [{name: ndots, value: "3"}]}
containers: [{name: c, args: ["facts:/etc/resolv.conf"]}]
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("/etc/resolv.conf", fields(s.facts(c, "c").Files["/etc/resolv.conf"].Content), []string{
				"search", "a.example", "b.example", "nameserver", "192.0.2.53", "options", "ndots:3",
			})
		},
	},
}
