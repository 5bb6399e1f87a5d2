package services

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/podctl/podctl/testkit/testutil"
)

// serveDNS returns the address of a server with a zone, and of resolvers.
func serveDNS(t *testing.T, resolvers func() []string) (*Server, string) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Skip(err)
	}
	s := NewServer(resolvers, func(a netip.Addr) bool { return a.IsLoopback() }, slog.New(slog.DiscardHandler))
	s.SetZone(NewZone(nil, DefaultRange, nil))
	s.Serve(udp, tcp)
	t.Cleanup(s.Close)
	return s, tcp.Addr().String()
}

// upstream returns the address of a resolver that counts queries and answers with an address.
func upstream(t *testing.T, asked *atomic.Int32) string {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: udp, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, req *dns.Msg) {
		asked.Add(1)
		msg := new(dns.Msg).SetReply(req)
		msg.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: req.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(192, 0, 2, 9)}}
		_ = w.WriteMsg(msg)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return udp.LocalAddr().String()
}

func ask(t *testing.T, server, name string, kind uint16) *dns.Msg {
	t.Helper()
	msg, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion(name, kind), server)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestOtherNamesAreForwardedAndRemembered(t *testing.T) {
	var asked atomic.Int32
	resolver := upstream(t, &asked)
	s, address := serveDNS(t, func() []string { return []string{resolver} })
	alias := build(service("alias"))
	alias.Type, alias.ExternalName, alias.Address = "ExternalName", "example.org", ""
	s.SetZone(NewZone([]Service{alias}, DefaultRange, nil))
	for range 3 {
		if msg := ask(t, address, "example.org.", dns.TypeA); len(msg.Answer) != 1 || msg.Rcode != dns.RcodeSuccess {
			t.Errorf("answer %v", msg)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the resolver was asked %d times, want once", n)
	}
	if msg := ask(t, address, "alias.default.svc.cluster.local.", dns.TypeA); len(msg.Answer) != 2 {
		t.Errorf("an alias: %v, want its target and that one's address", msg.Answer)
	}
	if msg := ask(t, address, "none.default.svc.cluster.local.", dns.TypeA); msg.Rcode != dns.RcodeNameError || len(msg.Ns) != 1 {
		t.Errorf("a missing name: %v", msg)
	}
	for i := range maxCached + 10 {
		s.remember(fmt.Sprint(i), new(dns.Msg))
	}
	if n := len(s.cache.Keys()); n > maxCached {
		t.Errorf("%d answers are remembered", n)
	}
	large := new(dns.Msg)
	for range maxCachedSize / 16 {
		large.Answer = append(large.Answer, named("large.example.", addressRecord("192.0.2.9")))
	}
	s.remember("large", large)
	if _, known := s.cache.Get("large"); known {
		t.Error("a large answer is remembered")
	}
}

// TestRememberedAnswersGrowOld: a client keeps a record for as long as its resolver said, not for longer.
func TestRememberedAnswersGrowOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, nil, discard)
		q := dns.Question{Name: "web.example.", Qtype: dns.TypeA, Qclass: dns.ClassINET}
		msg := new(dns.Msg).SetQuestion(q.Name, q.Qtype)
		msg.Answer = []dns.RR{named(q.Name, addressRecord("192.0.2.9"))}
		msg.Answer[0].Header().Ttl = 20
		s.remember("web.example. A IN", msg)
		for _, want := range []uint32{20, 8} {
			if got := s.forward(q, netip.Addr{}).Answer[0].Header().Ttl; got != want {
				t.Errorf("the record may be kept for %d s, want %d", got, want)
			}
			time.Sleep(12 * time.Second)
		}
	})
}

// TestLoopOfResolversEnds: a resolver that asks this server what it is asked.
func TestLoopOfResolversEnds(t *testing.T) {
	own := ""
	s, address := serveDNS(t, func() []string { return []string{own} })
	own = address
	msg := s.forward(dns.Question{Name: "loop.example.", Qtype: dns.TypeA, Qclass: dns.ClassINET}, netip.Addr{})
	if msg.Rcode != dns.RcodeServerFailure {
		t.Error(msg)
	}
	testutil.Eventually(t, 5*time.Second, "nothing is in flight", func() bool { return len(s.forwarding) == 0 })
}

// TestAnswerIsBounded: endpoints of one hostname have one target, whose addresses are in the answer once.
func TestAnswerIsBounded(t *testing.T) {
	s := Service{Namespace: "default", Name: "db", Address: "None", Ports: make([]Port, 20)}
	for i := range 20 {
		s.Ports[i] = Port{Name: fmt.Sprint("p", i), Protocol: "TCP"}
	}
	for i := range 400 {
		e := Endpoint{Address: fmt.Sprintf("10.9.%d.%d", i/250, i%250), Hostname: "x", Ready: true}
		for port := range 20 {
			e.Ports = append(e.Ports, int32(1000+port))
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	z := NewZone([]Service{s}, DefaultRange, nil)
	msg := z.answer(dns.Question{Name: "_p0._tcp.db.default.svc.cluster.local.", Qtype: dns.TypeSRV, Qclass: dns.ClassINET})
	if len(msg.Extra) != 400 {
		t.Errorf("%d addresses beside the answer, want 400", len(msg.Extra))
	}
	msg = z.answer(dns.Question{Name: "db.default.svc.cluster.local.", Qtype: dns.TypeANY, Qclass: dns.ClassINET})
	if len(msg.Answer) > maxRecords || !msg.Truncated || len(msg.Extra) > 2*maxRecords {
		t.Errorf("%d records, %d beside them", len(msg.Answer), len(msg.Extra))
	}
}

// TestQueriesAtATimeAreBounded: those above are dropped, and one that is answered makes room.
func TestQueriesAtATimeAreBounded(t *testing.T) {
	s, address := serveDNS(t, func() []string { return nil })
	for range maxAnswered {
		s.answering <- struct{}{}
	}
	c := &dns.Client{Timeout: 100 * time.Millisecond}
	if msg, _, err := c.Exchange(new(dns.Msg).SetQuestion("svc.cluster.local.", dns.TypeA), address); err == nil {
		t.Errorf("answered: %v", msg)
	}
	<-s.answering
	for range 2 {
		if msg := ask(t, address, "svc.cluster.local.", dns.TypeA); msg.Rcode != dns.RcodeSuccess {
			t.Error(msg)
		}
	}
}

// TestOneClientLeavesRoomToForward: its queries that wait are bounded, and another client's are answered.
func TestOneClientLeavesRoomToForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		s := NewServer(func() []string { <-blocked; return nil }, nil, discard)
		var failed atomic.Int32
		forward := func(client string, n int) {
			go func() {
				q := dns.Question{Name: fmt.Sprint(n, client, "."), Qtype: dns.TypeA, Qclass: dns.ClassINET}
				if s.forward(q, netip.MustParseAddr(client)).Rcode == dns.RcodeServerFailure {
					failed.Add(1)
				}
			}()
		}
		for n := range maxForwarded {
			forward("10.0.0.1", n)
		}
		synctest.Wait()
		if n := len(s.forwarding); n != maxClientForwarded || failed.Load() != maxForwarded-maxClientForwarded {
			t.Errorf("%d queries of one client wait, %d failed", n, failed.Load())
		}
		forward("10.0.0.2", 0)
		synctest.Wait()
		if n := len(s.forwarding); n != maxClientForwarded+1 {
			t.Errorf("%d queries wait, want one of another client, too", n)
		}
		close(blocked)
		synctest.Wait()
		if len(s.clients.forwarded) > 0 {
			t.Errorf("%v still wait", s.clients.forwarded)
		}
	})
}

// TestRememberedAnswersTakeWhatTheyAreSentAs: thousands of empty strings are small as they are sent, not as records.
func TestRememberedAnswersTakeWhatTheyAreSentAs(t *testing.T) {
	const n = 256
	s := NewServer(nil, nil, discard)
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := memory()
	for i := range n {
		msg := new(dns.Msg).SetQuestion(fmt.Sprintf("%d.example.", i), dns.TypeTXT)
		msg.Answer = []dns.RR{&dns.TXT{Hdr: header(dns.TypeTXT), Txt: make([]string, 4000)}}
		msg.Answer[0].Header().Name = msg.Question[0].Name
		s.remember(fmt.Sprintf("%d.example. TXT IN", i), msg)
	}
	if took := memory() - before; took > 2*n*maxCachedSize {
		t.Errorf("%d answers take %d bytes", n, took)
	}
	msg := s.forward(dns.Question{Name: "7.example.", Qtype: dns.TypeTXT, Qclass: dns.ClassINET}, netip.Addr{})
	if len(msg.Answer) != 1 || len(msg.Answer[0].(*dns.TXT).Txt) != 4000 {
		t.Errorf("remembered %v", msg)
	}
}
