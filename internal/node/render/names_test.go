package render

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 61) + "-b.c"
	tests := []struct {
		name             string
		edit             func(*v1.Pod)
		short, domain    string
		kernel, problems string
	}{
		{name: "the pod's name", edit: func(*v1.Pod) {}, short: "web", kernel: "web"},
		{name: "cut at 63, without what the cut leaves", edit: func(p *v1.Pod) { p.Name = long }, short: strings.Repeat("a", 61) + "-b", kernel: strings.Repeat("a", 61) + "-b"},
		{name: "cut leaves dashes", edit: func(p *v1.Pod) { p.Name = strings.Repeat("a", 60) + "--.-x" }, short: strings.Repeat("a", 60), kernel: strings.Repeat("a", 60)},
		{name: "hostname and subdomain", edit: func(p *v1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "h", "s" }, short: "h", domain: "s.shop.svc.local", kernel: "h"},
		{name: "whole name", edit: func(p *v1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "s", new(true) }, short: "web", domain: "s.shop.svc.local", kernel: "web.s.shop.svc.local"},
		{name: "whole name of 65", edit: func(p *v1.Pod) {
			p.Name, p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("x", 48), "s", new(true)
		}, short: strings.Repeat("x", 48), domain: "s.shop.svc.local", problems: "is too long (64 characters is the max, 65 characters requested)"},
		{name: "override wins over all", edit: func(p *v1.Pod) { p.Spec.Hostname, p.Spec.Subdomain, p.Spec.HostnameOverride = "h", "s", new("o.x") }, short: "o.x", kernel: "o.x"},
		{name: "bad override", edit: func(p *v1.Pod) { p.Spec.HostnameOverride = new("_") }, problems: `hostnameOverride "_" is not a DNS subdomain`},
		{name: "bad hostname", edit: func(p *v1.Pod) { p.Spec.Hostname = "a.b" }, problems: `hostname "a.b" is not a DNS label`},
		{name: "bad subdomain", edit: func(p *v1.Pod) { p.Spec.Subdomain = "a.b" }, problems: `subdomain "a.b" is not a DNS label`},
		{name: "node's network", edit: func(p *v1.Pod) { p.Spec.HostNetwork = true }, short: "web", kernel: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := aNode()
			n.ClusterDomain = "local"
			p := aPod(tt.edit)
			kernel, err := sandboxHostname(p, n)
			if tt.problems != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problems) {
					t.Fatalf("error %v, want %q", err, tt.problems)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			short, domain, _ := Hostname(p, n)
			diff(t, "hostname", []string{tt.short, tt.domain, tt.kernel}, []string{short, domain, kernel})
		})
	}
}

func TestHostsFile(t *testing.T) {
	n := aNode()
	n.ClusterDomain = "local"
	head := "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
	aliases := []v1.HostAlias{{IP: "10.1.2.3", Hostnames: []string{"foo", "bar"}}}
	tests := []struct {
		name string
		edit func(*v1.Pod)
		want string
	}{
		{"own network", func(*v1.Pod) {}, head + "10.0.0.7\tweb\nfd00::7\tweb\n"},
		{"with a domain and aliases", func(p *v1.Pod) { p.Spec.Subdomain, p.Spec.HostAliases = "s", aliases },
			head + "10.0.0.7\tweb.s.shop.svc.local\tweb\nfd00::7\tweb.s.shop.svc.local\tweb\n\n# Entries added by HostAliases.\n10.1.2.3\tfoo\tbar\n"},
		{"node's network", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostAliases = true, aliases },
			"# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n\n# Entries added by HostAliases.\n10.1.2.3\tfoo\tbar\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Hosts(aPod(tt.edit), n, []string{"10.0.0.7", "fd00::7"}, []byte("127.0.0.1 me\n"))
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "hosts", tt.want, string(got))
		})
	}
}

func TestParseResolvConf(t *testing.T) {
	got, err := ParseResolvConf([]byte("# nameserver 1.1.1.1\n  nameserver 10.0.0.1 x\nsearch a b\nsearch c. . d\noptions ndots:1 rotate\nnameserver ::1\noptions ndots:3\nsortlist x"))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "parsed", DNS{Servers: []string{"10.0.0.1", "::1"}, Searches: []string{"c", "d"}, Options: []string{"ndots:3", "rotate"}}, got)
	if _, err := ParseResolvConf([]byte("nameserver\n")); err == nil {
		t.Error("a nameserver line without an address is no error")
	}
}

func TestPodDNS(t *testing.T) {
	host := DNS{Servers: []string{"10.0.0.1"}, Searches: []string{"h"}, Options: []string{"ndots:1", "rotate"}}
	config := &v1.PodDNSConfig{
		Nameservers: []string{"1.1.1.1", "10.0.0.1"}, Searches: []string{"h", "x"},
		Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("4")}, {Name: "edns0"}},
	}
	many := &v1.PodDNSConfig{Nameservers: []string{"1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"}, Searches: []string{strings.Repeat("l", 254), "ok"}}
	wide := &v1.PodDNSConfig{}
	for i := range 40 {
		wide.Searches = append(wide.Searches, strings.Repeat(string(rune('a'+i%26)), 60+i))
	}
	tests := []struct {
		name     string
		policy   v1.DNSPolicy
		config   *v1.PodDNSConfig
		want     *runtimeapi.DNSConfig
		warnings []string
	}{
		{"the node's", v1.DNSClusterFirst, nil, &runtimeapi.DNSConfig{Servers: host.Servers, Searches: host.Searches, Options: host.Options}, nil},
		{"the node's and the pod's", v1.DNSDefault, config, &runtimeapi.DNSConfig{
			Servers: []string{"10.0.0.1", "1.1.1.1"}, Searches: []string{"h", "x"}, Options: []string{"edns0", "ndots:4", "rotate"}}, nil},
		{"only the pod's", v1.DNSNone, config, &runtimeapi.DNSConfig{
			Servers: []string{"1.1.1.1", "10.0.0.1"}, Searches: []string{"h", "x"}, Options: []string{"edns0", "ndots:4"}}, nil},
		{"too many servers, too long a domain", v1.DNSNone, many, &runtimeapi.DNSConfig{
			Servers: []string{"1.1.1.1", "2.2.2.2", "3.3.3.3"}, Searches: []string{"ok"}}, []string{
			"Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3",
			"Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ok"}},
		// 60+61+…+86 and 26 blanks are 1997 characters; the next does not fit.
		{"too long a line", v1.DNSNone, wide, &runtimeapi.DNSConfig{Searches: wide.Searches[:27]}, []string{
			"Search Line limits were exceeded, some search paths have been omitted, the applied search line is: " + strings.Join(wide.Searches[:27], " ")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := aNode()
			n.DNS = host
			p := aPod(func(p *v1.Pod) { p.Spec.DNSPolicy, p.Spec.DNSConfig = tt.policy, tt.config })
			got, warnings := PodDNS(p, n)
			diff(t, "servers", tt.want.Servers, got.Servers)
			diff(t, "searches", tt.want.Searches, got.Searches)
			diff(t, "options", tt.want.Options, got.Options)
			diff(t, "warnings", tt.warnings, warnings)
		})
	}
}

func TestNamespaces(t *testing.T) {
	users := &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: []*runtimeapi.IDMapping{{HostId: 65536, Length: 65536}}}
	tests := []struct {
		name string
		edit func(*v1.Pod)
		want string // network ipc pid users
	}{
		{"default", func(*v1.Pod) {}, "POD POD CONTAINER NODE"},
		{"shared processes", func(p *v1.Pod) { p.Spec.ShareProcessNamespace = new(true) }, "POD POD POD NODE"},
		{"node's processes win", func(p *v1.Pod) { p.Spec.HostPID, p.Spec.ShareProcessNamespace = true, new(true) }, "POD POD NODE NODE"},
		{"node's network and ipc", func(p *v1.Pod) { p.Spec.HostNetwork, p.Spec.HostIPC = true, true }, "NODE NODE CONTAINER NODE"},
		{"own users", func(p *v1.Pod) { p.Spec.HostUsers = new(false) }, "POD POD CONTAINER POD"},
		{"hostUsers true", func(p *v1.Pod) { p.Spec.HostUsers = new(true) }, "POD POD CONTAINER NODE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := namespaceOptions(aPod(tt.edit), users)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "modes", tt.want, strings.Join([]string{o.Network.String(), o.Ipc.String(), o.Pid.String(), o.UsernsOptions.Mode.String()}, " "))
		})
	}
}

func TestUserNamespaceIsMappedInEveryMount(t *testing.T) {
	p := aPod(func(p *v1.Pod) { p.Spec.HostUsers = new(false) })
	users := &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: []*runtimeapi.IDMapping{{HostId: 1}}, Gids: []*runtimeapi.IDMapping{{HostId: 2}}}
	cfg, err := Container(p, &p.Spec.Containers[0], input(func(in *ContainerInput) { in.UserNamespace = users }))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Mounts) != 2 {
		t.Fatalf("%d mounts, want 2", len(cfg.Mounts))
	}
	for _, m := range cfg.Mounts {
		diff(t, m.ContainerPath, []uint32{1, 2}, []uint32{m.UidMappings[0].HostId, m.GidMappings[0].HostId})
	}
}
