package target

import (
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// The ids of the pod web, and of its containers.
var (
	boxID = strings.Repeat("0a", 32)
	appID = strings.Repeat("1b", 32)
	oldID = strings.Repeat("1c", 32)
	dnsID = strings.Repeat("2d", 32)
)

const webUID = "8f735a4c-0000-4000-8000-000000000001"

// located are the pods default/web and kube/dns, and a bare pod of the UID web.
func located() []*view.Pod {
	web, dns, bare := example("default/web", "app#0-", "app#1"), example("kube/dns", "dns"), example("test/bare")
	web.UID, web.Runtime.UID = webUID, webUID
	web.Runtime.Sandboxes[0].ID, web.Runtime.Containers[0].ID, web.Runtime.Containers[1].ID = boxID, appID, oldID
	dns.Runtime.Containers[0].ID = dnsID
	bare.UID, bare.Runtime.UID = "web", "web"
	return []*view.Pod{web, dns, bare, {Metadata: view.Metadata{UID: "waits", Namespace: "default", Name: "waits"}}}
}

func text(t Target, err error) string {
	if err != nil {
		return answer(nil, err)
	}
	if t.Container != nil {
		return t.DisplayName() + "#" + string(rune('0'+t.Container.Attempt))
	}
	return t.DisplayName()
}

func TestPodOfCgroup(t *testing.T) {
	slice := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(webUID, "-", "_") + ".slice"
	none := func(path string) string {
		return "cgroup " + path + " is of no pod of this runtime | podctl pods lists the pods of the runtime; -r names another one"
	}
	all := located()
	groups := podCgroups{slice: all[0], "/podctl-a1/burstable/pod" + webUID: all[0]}
	for path, want := range map[string]string{
		slice: "default/web",
		slice + "/cri-containerd-" + appID + ".scope":                                             "default/web/app#1",
		slice + "/crio-" + oldID + ".scope":                                                       "default/web/app#0",
		slice + "/crio-conmon-" + boxID + ".scope":                                                "default/web",
		slice + "/crio-" + appID + ".scope/container/init":                                        "default/web/app#1",
		"/sys/fs/cgroup" + slice:                                                                  "default/web",
		"/kubepods/besteffort/pod" + webUID + "/" + appID:                                         "default/web/app#1",
		"/kubepods/pod" + webUID + "/crio-" + boxID:                                               "default/web",
		"/podctl-a1/burstable/pod" + webUID:                                                       "default/web",
		"/sys/fs/cgroup/memory/podctl-a1/burstable/pod" + webUID:                                  "default/web",
		"/k8s.io/" + dnsID:                                                                        "kube/dns/dns#0",
		"/system.slice/containerd.service/kubepods-besteffort-podx.slice:cri-containerd:" + dnsID: "kube/dns/dns#0",
		// A container names cgroups below its own as it likes.
		"/kubepods/pod" + webUID + "/" + appID + "/" + dnsID: "default/web/app#1",
		"/user.slice/user-0.slice/session-web.scope":         none("/user.slice/user-0.slice/session-web.scope"),
		"": none(""),
	} {
		if got := text(findByCgroup(all, groups, path)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", path, got, want)
		}
	}
	// The UID alone is that of a pod of whichever runtime.
	for _, path := range []string{
		"/kubepods/pod" + webUID, "/../../kubepods/pod" + webUID, "/kubepods/podweb", "/k/pod" + webUID + "/" + strings.Repeat("9f", 32),
		slice + "/crio-" + strings.Repeat("9f", 32) + ".scope",
	} {
		if got := text(findByCgroup(all, groups, path)); got != none(path) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestPodOfPID(t *testing.T) {
	shim := Process{PID: 50, Comm: "containerd-shim", Shim: true, Args: []string{"/usr/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", boxID}, Cgroups: []string{"/system.slice/containerd.service"}}
	conmon := Process{PID: 51, Comm: "conmon", Shim: true, Args: []string{"conmon", "-b", "/run/x", "-c", appID, "-n", "k8s_app"}, Cgroups: []string{"/system.slice/crio.service"}}
	init := Process{PID: 1, Comm: "systemd", Cgroups: []string{"/init.scope"}}
	for _, c := range []struct {
		rule, want string
		lineage    ancestry
	}{
		{"by its cgroup", "default/web/app#1", ancestry{{PID: 9, Comm: "nginx", Cgroups: []string{"/", "/kubepods/pod" + webUID + "/" + appID}}, shim, init}},
		{"the process of the sandbox", "default/web", ancestry{{PID: 9, Comm: "pause", Cgroups: []string{"/k8s.io/" + boxID}}, shim, init}},
		{"a shim", "default/web", ancestry{shim, init}},
		{"conmon, of its container", "default/web", ancestry{conmon, init}},
		{"runc below a shim", "default/web", ancestry{{PID: 60, Comm: "runc", Cgroups: shim.Cgroups}, shim, init}},
		{"a child that has left the cgroup", "kube/dns/dns#0", ancestry{{PID: 61, Comm: "sh", Cgroups: []string{"/"}}, {PID: 62, Comm: "dns", Cgroups: []string{"/k8s.io/" + dnsID}}}},
		{"no other process is named by its arguments", "process 70 (crictl) is of no pod of this runtime: its cgroup is /user.slice | podctl pods lists the pods of the runtime; -r names another one",
			ancestry{{PID: 70, Comm: "crictl", Args: []string{"exec", appID}, Cgroups: []string{"/user.slice"}}, init}},
		{"of no cgroup that is known", "process 2 (kthreadd) is of no pod of this runtime | podctl pods lists the pods of the runtime; -r names another one", ancestry{{PID: 2, Comm: "kthreadd"}}},
	} {
		if got := text(findByPID(located(), nil, c.lineage)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.rule, got, c.want)
		}
	}
}

func TestPodOfIP(t *testing.T) {
	all := located()
	pods := []Addresses{{Pod: all[0], IPs: []string{"10.88.0.7", "fd00::7"}}, {Pod: all[1], HostNetwork: true}, {Pod: all[2], IPs: []string{"10.88.0.9"}}, {Pod: all[3], IPs: []string{"10.88.0.9", "not known"}}}
	node := []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("fe80::1")}
	for ip, want := range map[string]string{
		"10.88.0.7": "default/web", "::ffff:10.88.0.7": "default/web", "fd00::7": "default/web", "FD00:0:0:0:0:0:0:7": "default/web", "[fd00::7]": "default/web",
		"10.88.0.9":    `"ip:10.88.0.9" is ambiguous: default/waits, test/bare`,
		"10.88.0.8":    "no pod that runs has the address 10.88.0.8 | podctl pods lists their addresses",
		"192.0.2.2":    "192.0.2.2 is an address of the node, which its pods with hostNetwork share: kube/dns | ss -lntup shows which process listens on a port, and pid:PID is its pod",
		"fe80::1%eth0": "fe80::1 is an address of the node, which its pods with hostNetwork share: kube/dns | ss -lntup shows which process listens on a port, and pid:PID is its pod",
	} {
		addr, err := parseIP(ip)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(findByIP(pods, node, addr)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", ip, got, want)
		}
	}
	if got := text(findByIP(pods[:1], node, node[0])); got != "192.0.2.2 is an address of the node, and of no pod" {
		t.Error(got)
	}
}

func TestPodsOfPort(t *testing.T) {
	all := located()
	mapped := []mappedPod{
		{all[0], []v1.ContainerPort{{HostPort: 8080, ContainerPort: 80, Protocol: v1.ProtocolTCP}, {HostPort: 53, Protocol: v1.ProtocolUDP}}},
		{all[1], []v1.ContainerPort{{HostPort: 53}, {ContainerPort: 8080}}},
	}
	for word, want := range map[string]string{
		"8080": "default/web", "8080/tcp": "default/web", "8080/UDP": "", "53": "default/web kube/dns", "53/tcp": "kube/dns", "53/udp": "default/web", "80": "",
	} {
		port, err := parsePort(word)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range findByMappedPort(mapped, port) {
			got = append(got, text(found, nil))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %q", word, got, want)
		}
	}
	for _, word := range []string{"", "0", "65536", "-1", "http", "80/icmp", "80/"} {
		if _, err := parsePort(word); err == nil {
			t.Errorf("%q is a port", word)
		}
	}
}

func TestContainerOfID(t *testing.T) {
	twin := located()
	twin[1].Runtime.Containers = append(twin[1].Runtime.Containers, &pod.Container{Name: "twin", ID: appID[:10] + "f"})
	for id, want := range map[string]string{
		appID: "default/web/app#1", appID[:22]: "default/web/app#1", "containerd://" + oldID: "default/web/app#0", boxID[:8]: "default/web",
		"1b1b1b": `"container:1b1b1b" is ambiguous: default/web/app (1b1b1b1b1b1b1), kube/dns/twin (1b1b1b1b1bf)`,
		"1b1b":   "container:1b1b: an id of 6 characters at least is needed",
		"ffffff": "no container has an id that begins with ffffff | podctl ps -a lists the containers of the runtime",
	} {
		if got := text(findByContainerID(twin, id)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", id, got, want)
		}
	}
}

func TestParseProperty(t *testing.T) {
	for word, want := range map[string]Property{"pid:12": {ByPID, "12"}, "ip:fd00::1": {ByIP, "fd00::1"}, "cgroup:/a:b": {ByCgroup, "/a:b"}, "port:": {ByPort, ""}} {
		if got, ok := ParseProperty(word); !ok || got != want || got.String() != word {
			t.Errorf("%s: %v %t", word, got, ok)
		}
	}
	for _, word := range []string{"pid", "web", "default/pid", "8080:80", "web:/etc/hosts", "PID:1", "uid:1000", ""} {
		if p, ok := ParseProperty(word); ok {
			t.Errorf("%s: %v", word, p)
		}
	}
}

// A command that stops pods is not given a container's id by mistake.
func TestContainerIDIsPodUnlessLiteral(t *testing.T) {
	if found, err := Pods(located(), Query{Words: []string{appID}}); err != nil || len(found) != 1 || found[0].Name != "web" {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := Pods(located(), Query{Words: []string{appID}, Literal: true}); err == nil || len(found) > 0 {
		t.Errorf("literal: %v", found)
	}
}
