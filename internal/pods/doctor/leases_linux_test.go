package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leaseRoot is a file system with files that are an hour old.
func leaseRoot(t *testing.T, now time.Time, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLeasesOfWhatIsNotListed(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	result := func(netns string) string {
		return fmt.Sprintf(`{"kind":"cniCacheV1","result":{"interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":%q}]}}`, netns)
	}
	root := leaseRoot(t, now, map[string]string{
		"var/lib/cni/networks/net/10.0.0.2":           "listed\r\neth0",
		"var/lib/cni/networks/net/10.0.0.3":           "gone\r\neth0",
		"var/lib/cni/results/net-gone-eth0":           result("/run/netns/cni-1"),
		"var/lib/cni/networks/net/10.0.0.4":           "unmounted\r\neth0",
		"var/lib/cni/results/net-unmounted-eth0":      result("/run/netns/cni-2"),
		"run/netns/cni-2":                             "",
		"var/lib/cni/networks/net/fd00::5":            "alive\r\neth0",
		"var/lib/cni/results/net-alive-eth0":          result("/ns"),
		"var/lib/cni/networks/podman/10.1.0.2":        "noresult",
		"var/lib/cni/networks/net/10.0.0.6":           "process\neth0",
		"var/lib/cni/results/net-process-eth0":        result("/proc/999999999/ns/net"),
		"var/lib/cni/networks/net/10.0.0.7":           "broken\neth0",
		"var/lib/cni/results/net-broken-eth0":         "{",
		"var/lib/cni/networks/net/10.0.0.8":           "../../x\neth0",
		"var/lib/cni/networks/net/10.0.0.9":           "",
		"var/lib/cni/networks/net/10.0.0.10":          "released\neth0",
		"var/lib/cni/networks/net/lock":               "",
		"var/lib/cni/networks/net/last_reserved_ip.0": "10.0.0.9",
		"var/lib/cni/networks/file":                   "",
		"data/net/10.2.0.2":                           "gone\neth0",
	})
	// A namespace that exists: this process's own.
	if err := os.Symlink("/proc/self/ns/net", filepath.Join(root, "ns")); err != nil {
		t.Fatal(err)
	}
	young := filepath.Join(root, "var/lib/cni/networks/net/10.0.0.11")
	if err := os.WriteFile(young, []byte("young"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(young, now, now); err != nil {
		t.Fatal(err)
	}
	leases, whole := readLeases(root, []string{leaseDir, "/data"}, now)
	if len(leases) != 10 || !whole {
		t.Errorf("%d leases, %v: %+v", len(leases), whole, leases)
	}
	if err := os.Remove(filepath.Join(root, "var/lib/cni/networks/net/10.0.0.10")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range unlistedLeases(leases, map[string]bool{"listed": true}, root, now) {
		got = append(got, fmt.Sprintf("%s %v", l.Address, l.Gone))
	}
	slices.Sort(got)
	want := []string{"10.0.0.3 true", "10.0.0.4 true", "10.0.0.6 false", "10.0.0.7 false", "10.0.0.8 false", "10.1.0.2 false", "10.2.0.2 true", "fd00::5 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestLeaseThatIsNoFileIsNotRead(t *testing.T) {
	root := leaseRoot(t, time.Now(), map[string]string{"var/lib/cni/networks/net/lock": ""})
	if err := unix.Mkfifo(filepath.Join(root, leaseDir, "net", "10.0.0.2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if leases, whole := readLeases(root, []string{leaseDir}, time.Now()); len(leases) != 0 || whole {
		t.Errorf("%+v, %v", leases, whole)
	}
}

// containerd shows the directory only in the text of a plugin's configuration.
func TestLeaseDirOfNetwork(t *testing.T) {
	c, _ := readConfig(map[string]string{"cniconfig": `{"Networks":[{"Config":{"Name":"net","Plugins":[
		{"Network":{"type":"bridge","ipam":{"type":"host-local"}},"Source":"{\"type\":\"bridge\",\"ipam\":{\"type\":\"host-local\",\"dataDir\":\"/data/\"}}"}]}},
		{"Config":{"Name":"other","Plugins":[{"Network":{"type":"bridge","ipam":{"type":"dhcp"}},"Source":"{\"ipam\":{\"type\":\"dhcp\",\"dataDir\":\"/dhcp\"}}"}]}}]}`})
	if dirs := c.CNI.leaseDirs(); !slices.Equal(dirs, []string{leaseDir, "/data"}) {
		t.Errorf("%q", dirs)
	}
}

func TestHostWithoutLeases(t *testing.T) {
	if leases, whole := readLeases(t.TempDir(), []string{leaseDir}, time.Now()); len(leases) != 0 || !whole {
		t.Errorf("%+v, %v", leases, whole)
	}
}
