package live

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Network is the CNI plugin of a private runtime, which fails for chosen pods.
type Network struct{ dir string }

// NetworkFault is how the plugin fails.
type NetworkFault string

// The faults. All but NetworkStays are of the making of a pod's network.
const (
	NetworkSleeps    NetworkFault = "sleeps"     // until the fault is lifted
	NetworkExits     NetworkFault = "exits"      // with 1 and an error
	NetworkNoAddress NetworkFault = "no-address" // its range of addresses has none left
	NetworkStays     NetworkFault = "stays"      // the removal of a pod's network exits with 1
)

// plugin stands before the plugin %[1]s and has its faults in %[2]s: a file for each pod, with
// its fault. It waits in open(2) for the FIFO, and has no children.
const plugin = `#!/bin/sh
pod=${CNI_ARGS#*K8S_POD_NAME=}
fault=
read -r fault 2>/dev/null <"%[2]s/${pod%%%%;*}"
case $CNI_COMMAND-$fault in
ADD-sleeps) read -r _ <"%[2]s/.fifo" ;;
ADD-exits | DEL-stays)
	echo '{"cniVersion": "1.0.0", "code": 11, "msg": "the fabric controller does not know this node"}'
	exit 1
	;;
ADD-no-address) exec %[1]s <"%[2]s/.no-address" ;;
esac
exec %[1]s
`

// FaultyNetwork puts a plugin before that of the runtime's network. Only for private ones.
func (in *Instance) FaultyNetwork(t testing.TB) *Network {
	t.Helper()
	n := &Network{dir: filepath.Join(in.run, "cni-faults")}
	bridge := filepath.Join(in.run, "cni-bin/bridge")
	behind, err := os.Readlink(bridge)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(n.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(n.dir, ".fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.write(t, ".no-address", in.noAddress(t, filepath.Join(n.dir, ".leases")))
	if err := os.Remove(bridge); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bridge, fmt.Appendf(nil, plugin, behind, n.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

// noAddress returns the configuration of the runtime's bridge with a range of one address,
// which another container has, according to leases.
func (in *Instance) noAddress(t testing.TB, leases string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(in.run, "cni/10-podctl.conflist"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Name, CNIVersion string
		Plugins          []map[string]any
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	address := in.subnet() + ".250"
	conf := list.Plugins[0]
	conf["name"], conf["cniVersion"] = list.Name, list.CNIVersion
	conf["ipam"] = map[string]any{"type": "host-local", "dataDir": leases, "ranges": [][]map[string]string{{
		{"subnet": in.subnet() + ".0/24", "rangeStart": address, "rangeEnd": address},
	}}}
	if data, err = json.Marshal(conf); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(leases, list.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, address), []byte("another\neth0"), 0o600); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (n *Network) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Break gives the pod of that name the fault.
func (n *Network) Break(t testing.TB, pod string, f NetworkFault) {
	t.Helper()
	n.write(t, pod, string(f)+"\n")
}

// Mend lifts all faults. Plugins that sleep go on.
func (n *Network) Mend(t testing.TB) {
	t.Helper()
	faults, err := filepath.Glob(filepath.Join(n.dir, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range faults {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	// Those that sleep open the FIFO for reading while it is open for writing, and read its end.
	fifo, err := os.OpenFile(filepath.Join(n.dir, ".fifo"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := fifo.Close(); err != nil {
		t.Fatal(err)
	}
}
