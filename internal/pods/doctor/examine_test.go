package doctor

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/leak"
)

// healthy are facts without a warning.
func healthy() Facts {
	yes := true
	return Facts{
		Now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), IsRoot: true,
		Runtime: Runtime{
			Endpoint: "unix:///run/x.sock", Version: cri.Version{Name: "containerd", Version: "v2.4.2", APIVersion: "v1"},
			Status: cri.RuntimeStatus{
				Runtime: cri.Condition{Type: "RuntimeReady", OK: true}, Network: cri.Condition{Type: "NetworkReady", OK: true},
				Handlers: []cri.Handler{{Name: "runc", RecursiveReadOnlyMounts: true, UserNamespaces: true}},
			},
			Drivers: cri.CgroupDrivers{Default: "systemd", Named: true}, Probed: true, Server: Server{PID: 7, CanRaise: true},
			Config: Config{Shown: true, Events: &yes, CNI: CNI{Shown: true, ConfDir: "/etc/cni/net.d", BinDirs: []string{"/opt/cni/bin"}, LoadStatus: "OK", Networks: []Network{{Name: "net", Plugins: []string{"bridge"}, Pool: &Pool{Dir: "/var/lib/cni/networks/net", Total: 253, Taken: 7}}}}},
		},
		Host:  Host{Kernel: "6.12", CgroupVersion: 2, Systemd: true, UserNamespaces: 1000, SharedRoot: true, Forwards: true},
		Disks: []Disk{{What: "images", Path: "/var/lib", Size: 100, Free: 50, Inodes: 100, FreeInodes: 50}},
		Pods:  Pods{Count: 2, Running: 1, Leaks: leak.Findings{Examined: true}, Podctls: []string{"agent"}},
	}
}

// leaked adds a leak of one thing.
func leaked(t leak.Thing) func(*Facts) {
	return func(f *Facts) {
		f.Pods.Leaks.Leaks = append(f.Pods.Leaks.Leaks, leak.Leak{ID: t.ID, Things: []leak.Thing{t}})
	}
}

// of are the findings of a check: "warning: evidence".
func of(f Facts, name string) string {
	var text []string
	for _, found := range Examine(f) {
		if found.Name == name {
			text = append(text, found.Level.String()+": "+found.Evidence)
		}
	}
	return strings.Join(text, "\n")
}

func TestHealthyHost(t *testing.T) {
	all := Examine(healthy())
	for _, f := range all {
		if f.Level != OK {
			t.Errorf("%s is %s: %s", f.Name, f.Level, f.Evidence)
		}
	}
	if len(all) < 15 || Worst(all) != OK {
		t.Errorf("%d findings, the worst is %s", len(all), Worst(all))
	}
}

// Each fact that is bad is found by its check, with its evidence, at its level; only
// that check finds it.
func TestFindings(t *testing.T) {
	no := false
	unsupported := errors.Join(cri.ErrUnsupported)
	for _, c := range []struct {
		change func(*Facts)
		check  string
		want   string
	}{
		{func(f *Facts) { f.Runtime.Status.Runtime = cri.Condition{Reason: "Starting", Message: "soon"} }, "runtime.ready", "failure: RuntimeReady is false: Starting: soon"},
		{func(f *Facts) { f.Runtime.StatusErr = fs.ErrClosed }, "runtime.ready", "failure: the runtime's status cannot be read: file already closed"},
		{func(f *Facts) { f.Runtime.Status.Network = cri.Condition{Message: "cni plugin not initialized"} }, "runtime.network", "failure: NetworkReady is false: cni plugin not initialized"},
		{func(f *Facts) { f.Runtime.Status.Others = []cri.Condition{{Type: "NoDeprecations"}} }, "runtime.conditions", "warning: NoDeprecations is false: no reason given"},
		{func(f *Facts) {
			f.Runtime.Config.CNI.Networks[0].Pool.Taken = 253
			f.Pods.Leaks.Unlisted = []leak.Thing{{Kind: leak.Lease, Path: "/var/lib/cni/networks/net/10.88.0.5"}, {Kind: leak.Lease, Path: "/var/lib/cni/networks/other/10.88.0.5"}}
		}, "runtime.addresses", "failure: 253 of 253 addresses of network net are taken, 1 address by nothing that this runtime lists: files of /var/lib/cni/networks/net; no other pod can have one"},
		{func(f *Facts) { f.Runtime.Config.CNI.Networks[0].Pool.Taken = 240 }, "runtime.addresses", "warning: 240 of 253 addresses of network net are taken"},
		{func(f *Facts) { f.Runtime.Config.CNI.Networks[0].Pool.Err = fs.ErrPermission }, "runtime.addresses", "info: how many addresses of network net are taken is not known: permission denied"},
		{func(f *Facts) { f.Runtime.Config.CNI.Networks[0].Missing = []string{"bridge"} }, "runtime.cni", "failure: network net of /etc/cni/net.d needs bridge, not found in /opt/cni/bin"},
		{func(f *Facts) {
			f.Runtime.Config.CNI.LoadStatus, f.Runtime.Config.CNI.Networks = "no network config found", nil
		}, "runtime.cni", "failure: no CNI configuration is loaded from /etc/cni/net.d: no network config found"},
		{func(f *Facts) { f.Runtime.Config.CNI = CNI{} }, "runtime.cni", "info: the runtime does not show"},
		{func(f *Facts) {
			f.Pods.Leaks.Unlisted = []leak.Thing{{Kind: leak.Lease, Name: "10.88.0.5 of network podman", ID: "3f9c1b2a44d0e7788"}}
			f.Pods.Leaks.Other = "podman (pid 7)"
		}, "leftover", "info: of nothing that this runtime lists, which another client or runtime may have: 1 address; another runtime may be on this host: podman (pid 7)"},
		{func(f *Facts) { f.Pods.Leaks.Unread = []string{"/x cannot be read"} }, "leftover.scan", "info: not all of what pods may have left can be read: /x cannot be read"},
		{func(f *Facts) { f.Pods.Leaks = leak.Findings{Unread: []string{"podctl is not run as root"}} }, "leftover.scan", "info: shims, mounts, namespaces and addresses of pods that are gone are not looked for: podctl is not run as root"},
		{func(f *Facts) { f.Pods.LeaksErr = fs.ErrClosed }, "leftover.scan", "warning: shims, mounts, namespaces and addresses of pods that are gone cannot be looked for: file already closed"},
		{func(f *Facts) { f.Runtime.Probed = false }, "runtime.events", "info: not opened"},
		{func(f *Facts) { f.Runtime.Events = unsupported }, "runtime.events", "info: containerd v2.4.2 has no events"},
		{func(f *Facts) { f.Runtime.Events, f.Runtime.Config.Events = unsupported, &no }, "runtime.events", "info: events are disabled"},
		{func(f *Facts) { f.Runtime.Events = fs.ErrClosed }, "runtime.events", "warning: the event stream does not open: file already closed"},
		{func(f *Facts) { f.Runtime.Server.CanRaise = false }, "runtime.oom-score", "failure: the runtime has no CAP_SYS_RESOURCE"},
		{func(f *Facts) { f.Runtime.Server.CanRaise, f.Runtime.Config.RestrictOOM = false, true }, "runtime.oom-score", "ok: "},
		{func(f *Facts) { f.Runtime.Server.CanRaise, f.Runtime.Config = false, Config{} }, "runtime.oom-score", "info: the runtime has no CAP_SYS_RESOURCE; whether"},
		{func(f *Facts) { f.Host.CgroupVersion = 1 }, "cgroup.version", "warning: cgroup v1"},
		{func(f *Facts) { f.Host.CgroupVersion = 0 }, "cgroup.version", "failure: no cgroups"},
		{func(f *Facts) { f.Runtime.Drivers.Default = "cgroupfs" }, "cgroup.driver", "warning: the runtime uses cgroupfs on a host whose cgroups systemd manages"},
		{func(f *Facts) { f.Host.Systemd = false }, "cgroup.driver", "failure: the runtime uses the systemd driver on a host without systemd"},
		{func(f *Facts) { f.Runtime.Drivers = cri.CgroupDrivers{} }, "cgroup.driver", "warning: containerd v2.4.2 does not name its cgroup driver; podctl assumes systemd, as systemd is the first process"},
		{func(f *Facts) { f.Runtime.Drivers, f.Runtime.GivenDriver = cri.CgroupDrivers{}, "cgroupfs" }, "cgroup.driver", "info: containerd v2.4.2 does not name its cgroup driver; podctl is told to use cgroupfs"},
		{func(f *Facts) {
			f.Runtime.Drivers, f.Kubelet = cri.CgroupDrivers{}, Kubelet{PID: 3, CgroupDriver: "systemd"}
		}, "cgroup.driver", "warning: containerd v2.4.2 does not name its cgroup driver; podctl takes systemd, for which the kubelet"},
		{func(f *Facts) { f.Runtime.GivenDriver = "cgroupfs" }, "cgroup.driver", "failure: the runtime uses systemd, and podctl is told to use cgroupfs"},
		{func(f *Facts) { f.Runtime.Drivers.Named, f.Kubelet = false, Kubelet{PID: 3, CgroupDriver: "cgroupfs"} }, "cgroup.driver", "failure: the runtime uses systemd, and the kubelet (pid 3) cgroupfs"},
		{func(f *Facts) { f.Kubelet = Kubelet{PID: 3, CgroupDriver: "cgroupfs"} }, "cgroup.driver", "info: the runtime uses systemd; the kubelet is configured for cgroupfs and follows"},
		{func(f *Facts) { f.Runtime.Drivers.ByHandler = map[string]string{"runc": "systemd", "crun": "cgroupfs"} }, "cgroup.driver", "info: systemd; cgroupfs with handler crun"},
		{func(f *Facts) { f.Runtime.DriverErr = fs.ErrClosed }, "cgroup.driver", "warning: the runtime's cgroup driver cannot be read"},
		{func(f *Facts) { f.Disks[0].Free = 14 }, "disk.images", "warning: /var/lib: 14 of 100 free (14%), 50% of the inodes"},
		{func(f *Facts) { f.Disks[0].FreeInodes = 1 }, "disk.images", "failure: /var/lib: 50 of 100 free (50%), 1% of the inodes"},
		{func(f *Facts) { f.Disks[0].Err = fs.ErrPermission }, "disk.images", "info: /var/lib cannot be read"},
		{func(f *Facts) { f.Runtime.Status.Handlers[0].RecursiveReadOnlyMounts = false }, "kernel.recursive-read-only", "info: no handler has"},
		{func(f *Facts) { f.Runtime.Status.Handlers[0].UserNamespaces = false }, "kernel.user-namespaces", "info: no handler has"},
		{func(f *Facts) { f.Host.UserNamespaces = 0 }, "kernel.user-namespaces", "info: disabled"},
		{func(f *Facts) { f.Host.SharedRoot = false }, "kernel.mount-propagation", "warning: / is not a shared mount"},
		{func(f *Facts) { f.Host.Forwards = false }, "kernel.forwarding", "warning: net.ipv4.ip_forward is 0"},
		{func(f *Facts) { f.Pods.Abandoned = []string{"a/b"} }, "pods.orphans", "warning: the podctl process of a/b has exited"},
		{func(f *Facts) { f.Pods.Headless = []string{"a/b"} }, "pods.sandboxes", "warning: containers run without a ready sandbox: a/b"},
		{func(f *Facts) { f.Pods.Broken = []string{"a/b: c (pid 7) is frozen by the cgroup /x"} }, "pods.processes", "warning: a/b: c (pid 7) is frozen by the cgroup /x"},
		{func(f *Facts) { f.Pods.Denied = []string{"open (r) /x, by AppArmor profile p"} }, "pods.denied", "warning: the kernel's log: containers were denied open (r) /x, by AppArmor profile p; a deny rule"},
		{func(f *Facts) {
			f.Pods.TakenPorts = []string{"a/b: host port 80/TCP: nginx (pid 7), which is none of the pod's, listens on it"}
		}, "pods.host-ports", "warning: a/b: host port 80/TCP: nginx (pid 7), which is none of the pod's, listens on it"},
		{func(f *Facts) { f.Pods.Doubled = []string{"a/b"} }, "pods.sandboxes", "warning: more than one sandbox is ready of a/b"},
		{func(f *Facts) { f.Pods.Hanging = []string{"a/b"} }, "pods.starting", "warning: pods do not start: a/b"},
		{func(f *Facts) { f.Pods.Err = fs.ErrClosed }, "pods", "failure: pods cannot be listed"},
		{func(f *Facts) {
			for name := range strings.SplitSeq("ab", "") {
				leaked(leak.Thing{Kind: leak.Mount, Path: name})(f)
			}
			leaked(leak.Thing{Kind: leak.Shim, PID: 8, ID: "abc"})(f)
			leaked(leak.Thing{Kind: leak.NetworkNamespace, Path: "/run/netns/cni-1"})(f)
		}, "leftover", "warning: of nothing that the runtime lists: 1 shim, 2 mounts, 1 network namespace"},
		{func(f *Facts) { f.Kubelet = Kubelet{PID: 9, CgroupDriver: "systemd"} }, "kubelet", "info: kubelet (pid 9) uses this runtime"},
		{func(f *Facts) {
			f.Kubelet = Kubelet{PID: 9, CgroupDriver: "systemd", RootDir: "/var/lib/kubelet", ConfigFile: "/etc/kubelet.yaml"}
		}, "kubelet.files", "ok: root directory /var/lib/kubelet, configuration /etc/kubelet.yaml, static pods none"},
		{func(f *Facts) {
			f.Kubelet = Kubelet{PID: 9, CgroupDriver: "systemd", PodCount: 1, Server: "https://127.0.0.1:10250", Credential: "service account token"}
		}, "kubelet.pods", "ok: 1 pod, asked at https://127.0.0.1:10250 with service account token"},
		{func(f *Facts) {
			f.Kubelet = Kubelet{PID: 9, CgroupDriver: "systemd", AskErr: errors.Join(errors.New("401"), errors.New("403"))}
		}, "kubelet.pods", "warning: the kubelet (pid 9) does not name its pods, so that podctl cannot say which of them it desires: 401; 403"},
		{func(f *Facts) { f.Kubelet.Err = fs.ErrPermission }, "kubelet", "info: whether a kubelet uses this runtime is not known"},
		{func(f *Facts) { f.IsRoot = false }, "podctl", "info: not run as root"},
	} {
		f := healthy()
		c.change(&f)
		if got := of(f, c.check); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.check, got, c.want)
		}
		for _, found := range Examine(f) {
			if found.Name != c.check && found.Level > Info {
				t.Errorf("%s: also %s: %s", c.check, found.Name, found.Evidence)
			}
		}
	}
}

// Without a runtime the host is examined all the same.
func TestHostWithoutRuntime(t *testing.T) {
	f := healthy()
	f.Runtime = Runtime{Err: errors.New("no socket at /run/x.sock")}
	if got := of(f, "runtime.cri"); got != "failure: no socket at /run/x.sock" {
		t.Errorf("%q", got)
	}
	if of(f, "cgroup.version") == "" || of(f, "runtime.ready") != "" || Worst(Examine(f)) != Failure {
		t.Errorf("%v", Examine(f))
	}
}

func TestSharedFileSystemIsReportedOnce(t *testing.T) {
	f := healthy()
	f.Disks = []Disk{{What: "images", Size: 1, Free: 1, Device: 5}, {What: "logs", Size: 1, Free: 1, Device: 5}, {What: "pods", Size: 1, Free: 1, Device: 6}}
	if of(f, "disk.images") == "" || of(f, "disk.logs") != "" || of(f, "disk.pods") == "" {
		t.Errorf("%v", Examine(f))
	}
}

func TestConfigurationFromVerboseStatus(t *testing.T) {
	shown := cri.ReadRuntimeConfig(map[string]string{
		"config":            `{"sandboxImage": "pause:1", "restrictOOMScoreAdj": true}`,
		"lastCNILoadStatus": "OK",
		"cniconfig": `{"PluginDirs": ["/bin", "/opt"], "PluginConfDir": "/etc/cni", "Networks": [
			{"Config": {"Name": "cni-loopback", "Plugins": [{"Network": {"type": "loopback"}}]}},
			{"Config": {"Name": "net", "Plugins": [{"Network": {"type": "sh", "ipam": {"type": "no-such-ipam"}}}, {"Network": {"type": "sh"}}]}}]}`,
	})
	c := newConfig(shown)
	c.CNI.find(0)
	if shown.SandboxImage != "pause:1" || !c.RestrictOOM {
		t.Errorf("%+v", c)
	}
	if n := c.CNI.Networks; len(n) != 1 || strings.Join(n[0].Plugins, " ") != "sh no-such-ipam" || strings.Join(n[0].Missing, " ") != "no-such-ipam" {
		t.Errorf("%+v", c.CNI)
	}
	c = newConfig(cri.ReadRuntimeConfig(map[string]string{"config": `{"crio": {"EnablePodEvents": false}}`}))
	if c.Events == nil || *c.Events || c.CNI.Shown {
		t.Errorf("%+v", c)
	}
	if c := newConfig(cri.ReadRuntimeConfig(map[string]string{"config": "[", "cniconfig": "["})); c.Shown || c.CNI.Shown {
		t.Errorf("%+v", c)
	}
}
