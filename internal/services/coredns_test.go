package services

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var coreDNS = flag.String("coredns", "", "record testdata/dns.txt from the CoreDNS at this address")

// differences are podctl's answers that are others, for the reasons that docs/services.md has.
var differences = map[string]string{
	"; alias.default.svc.cluster.local. AAAA": "NOERROR\nalias.default.svc.cluster.local. 5 IN CNAME web.default.svc.cluster.local.",
	"; dns-version.cluster.local. TXT":        "NOERROR\ndns-version.cluster.local. 5 IN TXT \"1.1.0\"",
}

// TestZoneBesideCoreDNS compares the answers about the objects of testdata/dns.yaml with those of a CoreDNS,
// which testdata/dns.txt has.
func TestZoneBesideCoreDNS(t *testing.T) {
	recorded, err := os.ReadFile("testdata/dns.txt")
	if err != nil {
		t.Fatal(err)
	}
	z, again := zoneOf(t, "testdata/dns.yaml"), ""
	for block := range strings.SplitSeq(strings.TrimSpace(string(recorded)), "\n\n") {
		first, want, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(first, "#") {
			again += block + "\n\n"
			continue
		}
		name, kind, _ := strings.Cut(strings.TrimPrefix(first, "; "), " ")
		q := dns.Question{Name: name, Qtype: dns.StringToType[kind], Qclass: dns.ClassINET}
		if *coreDNS != "" {
			want = transcript(ask(t, *coreDNS, q.Name, q.Qtype))
		}
		again += first + "\n" + want + "\n\n"
		if own, differs := differences[first]; differs {
			want = own
		}
		s := NewServer(func() []string { return nil }, nil, nil)
		s.SetZone(z)
		if got := transcript(s.reply(new(dns.Msg).SetQuestion(q.Name, q.Qtype), netip.Addr{})); got != want {
			t.Errorf("%s\npodctl\n%s\nCoreDNS\n%s", first, got, want)
		}
	}
	if *coreDNS != "" {
		if err := os.WriteFile("testdata/dns.txt", []byte(strings.TrimSpace(again)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// transcript returns the parts of an answer as dig prints them: sorted, as their order is random, and without the
// numbers of an SOA, which are the server's own.
func transcript(msg *dns.Msg) string {
	lines := []string{dns.RcodeToString[msg.Rcode]}
	for _, section := range [][]dns.RR{msg.Answer, msg.Ns, msg.Extra} {
		var sorted []string
		for _, r := range section {
			if soa, is := r.(*dns.SOA); is {
				sorted = append(sorted, fmt.Sprintf("%s %d IN SOA %s", soa.Hdr.Name, soa.Hdr.Ttl, soa.Ns))
			} else if r.Header().Rrtype != dns.TypeOPT {
				sorted = append(sorted, strings.Join(strings.Fields(r.String()), " "))
			}
		}
		slices.Sort(sorted)
		lines = append(lines, sorted...)
	}
	return strings.Join(lines, "\n")
}

// zoneOf is the zone of the Services and pods of a file.
func zoneOf(t *testing.T, file string) *Zone {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var in Input
	var pods []PodAddress
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var s v1.Service
		var p v1.Pod
		if err := yaml.Unmarshal([]byte(document), &s); err != nil {
			t.Fatal(err)
		}
		if s.Kind == "Service" {
			in.Services = append(in.Services, &s)
		} else if err := yaml.Unmarshal([]byte(document), &p); err != nil {
			t.Fatal(err)
		} else {
			in.Pods, pods = append(in.Pods, &p), append(pods, PodAddress{p.Namespace, addressOf(&p)})
		}
	}
	table := Build([]Input{in}, DefaultRange, "node")
	for _, s := range table {
		if s.Problem != "" {
			t.Fatal(s.Name, s.Problem)
		}
	}
	return NewZone(table, DefaultRange, pods)
}
