package cri

import (
	"reflect"
	"testing"
)

func TestDetailsAreReadFromTheVerboseStatus(t *testing.T) {
	detailsIn := func(info string) (Details, error) {
		v, err := readVerbose(map[string]string{"info": info}, "container c")
		return v.details(), err
	}
	d, err := detailsIn(`{"pid": 812, "runtimeSpec": {"linux": {"cgroupsPath": "/pods/podu/c",
		"namespaces": [{"type": "pid"}, {"type": "ipc", "path": "/var/run/ipcns/1"}, {"type": "network", "path": "/var/run/netns/cni-1"}],
		"resources": {"memory": {"limit": 67108864}, "cpu": {"shares": 2}}}}}`)
	if err != nil || d.PID != 812 || d.NetNS != "/var/run/netns/cni-1" || *d.MemoryLimit != 64<<20 || !reflect.DeepEqual(d.Namespaces, []string{"/var/run/ipcns/1", "/var/run/netns/cni-1"}) {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = detailsIn(`{"pid": 1, "runtimeSpec": {"linux": {"resources": {"memory": {"limit": -1}}}}}`)
	if err != nil || !reflect.DeepEqual(d, Details{PID: 1}) {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := detailsIn(""); err != nil || !reflect.DeepEqual(d, Details{}) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := detailsIn("{"); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// containerd says of a sandbox whether its network is torn down; it says no of the host's.
func TestTheNetworkOfASandboxIsHeldUntilItIsClosed(t *testing.T) {
	const network = `"runtimeSpec": {"linux": {"namespaces": [{"type": "network", "path": "/run/netns/cni-1f"}]}}`
	for info, want := range map[string]bool{
		`{"netNamespaceClosed": false, ` + network + `}`: true,
		`{"netNamespaceClosed": true, ` + network + `}`:  false,
		`{` + network + `}`:                              false,
		`{"netNamespaceClosed": false}`:                  false,
	} {
		v, err := readVerbose(map[string]string{"info": info}, "sandbox s")
		if got := v.details().NetworkHeld; err != nil || got != want {
			t.Errorf("%s: %v, %v", info, got, err)
		}
	}
}
