package cri

import "testing"

// Verbose statuses as containerd and CRI-O answer, shortened.
func TestCgroupDriversOfVerboseStatus(t *testing.T) {
	for name, c := range map[string]struct {
		config  string
		handler string
		want    string
		others  int
	}{
		"containerd 1.7, systemd":          {`{"containerd":{"snapshotter":"overlayfs","defaultRuntimeName":"runc","runtimes":{"runc":{"runtimeType":"io.containerd.runc.v2","options":{"BinaryName":"","SystemdCgroup":true}}}}}`, "", "systemd", 0},
		"containerd 1.6, default":          {`{"containerd":{"defaultRuntimeName":"runc","runtimes":{"runc":{"runtimeType":"io.containerd.runc.v2","options":{}}}}}`, "", "cgroupfs", 0},
		"without options":                  {`{"containerd":{"defaultRuntimeName":"runc","runtimes":{"runc":{"runtimeType":"io.containerd.runc.v2","options":null}}}}`, "runc", "cgroupfs", 0},
		"another handler":                  {`{"containerd":{"defaultRuntimeName":"runc","runtimes":{"crun":{"runtimeType":"io.containerd.runc.v2","options":{"SystemdCgroup":false}},"runc":{"runtimeType":"io.containerd.runc.v2","options":{"SystemdCgroup":true}}}}}`, "crun", "cgroupfs", 1},
		"a handler with other options":     {`{"containerd":{"defaultRuntimeName":"runc","runtimes":{"kata":{"runtimeType":"io.containerd.kata.v2","options":{"ConfigPath":"/x"}},"runc":{"runtimeType":"io.containerd.runc.v2","options":{"SystemdCgroup":true}}}}}`, "kata", "systemd", 0},
		"a default handler that says none": {`{"containerd":{"defaultRuntimeName":"kata","runtimes":{"kata":{"runtimeType":"io.containerd.kata.v2"}}}}`, "", "", 0},
		"options of another form":          {`{"containerd":{"defaultRuntimeName":"x","runtimes":{"x":{"runtimeType":"x","options":"SystemdCgroup"}}}}`, "", "", 0},
		"CRI-O":                            {`{"crio":{"CgroupManagerName":"systemd","EnablePodEvents":true}}`, "", "systemd", 0},
		"another form":                     {`["SystemdCgroup"]`, "", "", 0},
		"nothing":                          {``, "", "", 0},
	} {
		d := ReadRuntimeConfig(map[string]string{"config": c.config}).cgroupDrivers()
		if got := d.Of(c.handler); got != c.want || len(d.Others()) != c.others {
			t.Errorf("%s: %q, want %q; %+v", name, got, c.want, d)
		}
	}
}
