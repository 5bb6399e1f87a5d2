package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Kubelet rule: kubeadm points --resolv-conf at systemd-resolved's upstream file
// where that service is in use; an empty --resolv-conf disables DNS lookups.
func TestPodsInheritAResolverThatTheyCanReach(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stub := write("stub", "nameserver 127.0.0.53\noptions edns0\n")
	plain := write("plain", "nameserver 10.0.0.1\nsearch example.org\n")
	upstream := write("upstream", "nameserver 192.0.2.53\n")
	missing, none := filepath.Join(dir, "missing"), ""
	for _, c := range []struct {
		name     string
		resolver Resolver
		ips      []string
		want     []string
		fails    bool
	}{
		{"plain", Resolver{etc: plain, upstream: upstream}, nil, []string{"10.0.0.1"}, false},
		{"stub of systemd-resolved", Resolver{etc: stub, upstream: upstream}, nil, []string{"192.0.2.53"}, false},
		{"stub without an upstream file", Resolver{etc: stub, upstream: missing}, nil, []string{"127.0.0.53"}, false},
		{"no file", Resolver{etc: missing, upstream: upstream}, nil, nil, false},
		{"given", Resolver{etc: plain, upstream: upstream, File: &stub}, nil, []string{"127.0.0.53"}, false},
		{"given and missing", Resolver{etc: plain, upstream: upstream, File: &missing}, nil, nil, true},
		{"disabled", Resolver{etc: plain, upstream: upstream, File: &none}, nil, []string{"127.0.0.1"}, false},
		{"disabled, two families", Resolver{etc: plain, upstream: upstream, File: &none}, []string{"10.0.0.9", "fd00::9"}, []string{"127.0.0.1", "::1"}, false},
	} {
		dns, err := c.resolver.Read(c.ips)
		if (err != nil) != c.fails || !slices.Equal(dns.Servers, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.name, dns, err, c.want)
		}
	}
}
