package conform

var namespaces = []Behaviour{
	{
		Name: "shared-namespaces", About: "containers of a pod share network, IPC and hostname, not processes, mounts; none is the host's",
		Spec: `containers: [{name: a, args: [facts, "await:TERM"]}, {name: b, args: [facts]}]
`,
		Until: hasExited("b"),
		Judge: func(s *Observation, c *Check) {
			a, b := s.facts(c, "a").Namespaces, s.facts(c, "b").Namespaces
			for _, ns := range []string{"net", "ipc", "uts"} {
				c.That(a[ns] == b[ns] && a[ns] != "", "%s is not shared: %s, %s", ns, a[ns], b[ns])
			}
			for _, ns := range []string{"pid", "mnt"} {
				c.That(a[ns] != b[ns], "%s is shared", ns)
			}
			for _, ns := range []string{"net", "ipc", "uts", "pid", "mnt"} {
				c.That(a[ns] != s.Host.Namespaces[ns], "%s is the host's", ns)
			}
		},
	},
	{
		Name: "loopback", About: "a container reaches another one at localhost, and the pod at its address",
		Spec: `containers:
- {name: server, args: ["listen::8080=hello", "await:TERM"]}
- {name: client, env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}], args: ["sleep:1s", "get:127.0.0.1:8080", "get:$(IP):8080"]}
`,
		Until: hasExited("client"),
		Judge: func(s *Observation, c *Check) {
			c.Equal("what the client read", s.text("client"), []string{"hello", "hello"})
		},
	},
	{
		Name: "share-processes", About: "shareProcessNamespace: containers see each other's processes below the sandbox's",
		Spec: `shareProcessNamespace: true
containers: [{name: a, args: ["await:TERM"]}, {name: b, args: ["sleep:1s", facts]}]
`,
		Judge: judgeSharedProcesses,
		Until: hasExited("b"),
	},
	{
		Name: "host-network", About: "hostNetwork: the host's network, hostname and addresses",
		Spec: `hostNetwork: true
containers: [{name: c, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("the network", f.Namespaces["net"], s.Host.Namespaces["net"])
			c.Equal("the hostname", f.Hostname, s.Host.Hostname)
			c.Equal("the pod's address", s.Status.PodIP, s.Status.HostIP)
		},
	},
	{
		Name: "host-pid-ipc", About: "hostPID and hostIPC: the host's namespaces",
		Spec: `hostPID: true
hostIPC: true
containers: [{name: c, args: [facts]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			for _, ns := range []string{"pid", "ipc"} {
				c.Equal(ns, f.Namespaces[ns], s.Host.Namespaces[ns])
			}
			c.That(f.Namespaces["net"] != s.Host.Namespaces["net"], "the network is the host's")
		},
	},
	{
		Name: "shared-memory", About: "/dev/shm is a tmpfs of 64 MiB that the containers share",
		Spec: `containers: [{name: a, args: ["write:/dev/shm/x=shared", "sleep:2s"]}, {name: b, args: ["sleep:1s", "facts:/dev/shm", "read:/dev/shm/x"]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "b")
			c.Equal("its file system", f.at("/dev/shm").Type, "tmpfs")
			c.Equal("its size", f.Files["/dev/shm"].Size, int64(64<<20))
			c.Equal("what the other container wrote", s.text("b"), []string{"shared"})
		},
	},
}

// judgeSharedProcesses: the sandbox's process is the first, and both containers' are seen.
func judgeSharedProcesses(s *Observation, c *Check) {
	f := s.facts(c, "b")
	c.That(f.Processes[1] != "podctl-conform", "the first process is the container's")
	ours := 0
	for _, comm := range f.Processes {
		if comm == "podctl-conform" {
			ours++
		}
	}
	c.That(ours >= 2, "the other container's process is not seen: %v", f.Processes)
}
