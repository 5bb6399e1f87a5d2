package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPool(t *testing.T) {
	for ipam, want := range map[string]int{
		`"subnet": "10.88.0.0/24"`:                                                                 253, // without the gateway
		`"ranges": [[{"subnet": "10.88.0.0/24"}]]`:                                                 253,
		`"subnet": "10.88.0.0/24", "gateway": "10.88.0.254"`:                                       253,
		`"subnet": "10.88.0.0/24", "rangeStart": "10.88.0.10", "rangeEnd": "10.88.0.12"`:           3,
		`"ranges": [[{"subnet": "10.88.0.0/29"}, {"subnet": "10.89.0.0/29"}]]`:                     10,
		`"ranges": [[{"subnet": "10.88.0.0/24"}], [{"subnet": "fd00::/64"}]]`:                      253,
		`"ranges": [[{"subnet": "fd00::/112", "rangeStart": "fd00::10", "rangeEnd": "fd00::1f"}]]`: 16,
		`"ranges": [[{"subnet": "::/0"}]]`:                                                         maxPool,
		`"subnet": "10.88.0.0/24", "rangeStart": "10.88.0.12", "rangeEnd": "10.88.0.10"`:           0,
		`"subnet": "10.88.0.0/24", "rangeStart": "fd00::1"`:                                        0,
		`"subnet": "none"`: 0, ``: 0, `"ranges": [[{}]]`: 0, `"ranges": 7`: 0,
	} {
		if ipam != "" {
			ipam = ", " + ipam
		}
		p := newPool("net", []byte(`{"ipam": {"type": "host-local"`+ipam+`}}`))
		if p == nil {
			p = &Pool{}
		}
		if p.Total != want {
			t.Errorf("%s: %d, want %d", ipam, p.Total, want)
		}
	}
	for _, network := range []string{"", "..", "a/b"} {
		if p := newPool(network, []byte(`{"ipam": {"type": "host-local", "subnet": "10.88.0.0/24"}}`)); p != nil {
			t.Errorf("%q: %+v", network, p)
		}
	}
}

func TestPoolCountsAddresses(t *testing.T) {
	root := t.TempDir()
	p := newPool("net", []byte(`{"ipam": {"type": "host-local", "dataDir": "/data", "subnet": "10.88.0.0/24"}}`))
	if p.read(root); p.Taken != 0 || p.Err != nil {
		t.Errorf("%+v", p)
	}
	dir := filepath.Join(root, "data/net")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"10.88.0.2", "10.88.0.3", "lock", "last_reserved_ip.0", "fd00::2", "10.88.0.1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if p.read(root); p.Taken != 2 || p.Err != nil {
		t.Errorf("%+v", p)
	}
}
