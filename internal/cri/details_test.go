package cri

import "testing"

func TestDetailsAreReadFromTheVerboseStatus(t *testing.T) {
	d, err := readDetails(map[string]string{"info": `{"pid": 812, "runtimeSpec": {"linux": {"cgroupsPath": "/pods/podu/c",
		"namespaces": [{"type": "pid"}, {"type": "network", "path": "/var/run/netns/cni-1"}],
		"resources": {"memory": {"limit": 67108864}, "cpu": {"shares": 2, "quota": 50000, "period": 100000}}}}}`}, "container c")
	if err != nil || d.PID != 812 || d.NetNS != "/var/run/netns/cni-1" || d.Cgroup != "/pods/podu/c" || *d.MemoryLimit != 64<<20 || *d.CPULimit != 0.5 {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = readDetails(map[string]string{"info": `{"pid": 1, "runtimeSpec": {"linux": {"resources": {"memory": {"limit": -1}, "cpu": {"quota": -1}}}}}`}, "container c")
	if err != nil || d != (Details{PID: 1}) {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := readDetails(nil, "container c"); err != nil || d != (Details{}) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := readDetails(map[string]string{"info": "{"}, "container c"); err == nil {
		t.Error("no error for what is no JSON")
	}
}
