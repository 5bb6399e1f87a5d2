package services

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func udpFrom(address string) net.Addr { return &net.UDPAddr{IP: net.ParseIP(address), Port: 5} }

func TestQueriesAboveTheRateAreDropped(t *testing.T) {
	c := newClients(func(netip.Addr) bool { return true })
	admitted := 0
	for range 3 * maxClient {
		if c.admit(udpFrom("10.0.0.1"), &Zone{}) {
			admitted++
		}
	}
	if admitted > 2*maxClient { // the second may change in between
		t.Errorf("%d queries of one client were admitted", admitted)
	}
	if !c.admit(udpFrom("10.0.0.2"), &Zone{}) {
		t.Error("another client is dropped")
	}
}

// TestOnlyThisHostAndItsPodsAreAnswered: a host of its network may route the address to it.
func TestOnlyThisHostAndItsPodsAreAnswered(t *testing.T) {
	c := newClients(func(a netip.Addr) bool { return a.IsLoopback() })
	z := NewZone(nil, DefaultRange, []PodAddress{{"default", "10.0.0.1"}})
	for address, want := range map[string]bool{"127.0.0.1": true, "10.0.0.1": true, "192.0.2.7": false, DNSAddress: true} {
		for _, from := range []net.Addr{udpFrom(address), &net.TCPAddr{IP: net.ParseIP(address), Port: 5}} {
			if got := c.admit(from, z); got != want {
				t.Errorf("%s from %s is admitted: %v", from.Network(), address, got)
			}
		}
	}
}

// TestForgedAddressesDelayNoPod: a pod may send with any source address.
func TestForgedAddressesDelayNoPod(t *testing.T) {
	lookups := 0
	c := newClients(func(netip.Addr) bool { lookups++; return false })
	z := NewZone(nil, DefaultRange, []PodAddress{{"default", "10.0.0.1"}})
	for i := range 20 * maxLookups {
		c.admit(udpFrom(fmt.Sprintf("192.0.%d.%d", i/250, i%250)), z)
	}
	if lookups > 2*maxLookups { // the second may change in between
		t.Errorf("%d addresses were looked up", lookups)
	}
	if len(c.queries) > maxLookups {
		t.Errorf("%d addresses are counted", len(c.queries))
	}
	if !c.admit(udpFrom("10.0.0.1"), z) {
		t.Error("a pod is dropped")
	}
}

// TestConnectionsOfOneClient: those above its number are closed, and a closed one makes room.
func TestConnectionsOfOneClient(t *testing.T) {
	c := newClients(nil)
	var closed []func()
	for range maxClientConns {
		end, ok := c.hold(c.conns, netip.MustParseAddr("10.0.0.1"), maxClientConns)
		if !ok {
			t.Fatalf("connection %d is refused", len(closed))
		}
		closed = append(closed, end)
	}
	if _, ok := c.hold(c.conns, netip.MustParseAddr("10.0.0.1"), maxClientConns); ok {
		t.Error("one too many is admitted")
	}
	if _, ok := c.hold(c.conns, netip.MustParseAddr("10.0.0.2"), maxClientConns); !ok {
		t.Error("another client is refused")
	}
	closed[0]()
	closed[0]() // once
	if n := c.conns[netip.MustParseAddr("10.0.0.1")]; n != maxClientConns-1 {
		t.Errorf("%d connections are counted", n)
	}
}

// TestClientThatDoesNotReadIsClosed: its connection makes room for those of others.
func TestClientThatDoesNotReadIsClosed(t *testing.T) {
	server, client := net.Pipe()
	defer client.Close()
	closed := false
	conn := &clientConn{server, func() { closed = true }}
	begin := time.Now()
	if _, err := conn.Write([]byte("answer")); err == nil || !closed || time.Since(begin) < writeTimeout {
		t.Errorf("write: %v after %v, closed %v", err, time.Since(begin), closed)
	}
}

// TestMalformedQueries: the server answers the next query, whatever came before.
func TestMalformedQueries(t *testing.T) {
	s, address := serveDNS(t, func() []string { return nil })
	s.SetZone(NewZone([]Service{build(service("web"))}, DefaultRange, nil))
	header := func(questions uint16) []byte {
		return binary.BigEndian.AppendUint16([]byte{0, 1, 1, 0}, questions)
	}
	end := []byte{0, 0, 0, 0, 0, 0}
	loop := append(append(header(1), end...), 0xc0, 12, 0, 1, 0, 1) // a name that is a pointer to itself
	many := append(append(header(5000), end...), []byte(strings.Repeat("\x00\x00\x01\x00\x01", 5000))...)
	for name, query := range map[string][]byte{"loop": loop, "many questions": many, "64 KiB": append(many, make([]byte, dns.MaxMsgSize-len(many))...), "short": {1}} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...))
		_ = conn.Close()
		if udp, dialErr := net.Dial("udp", address); err == nil && dialErr == nil {
			_, _ = udp.Write(query) // one of 64 KiB does not fit
			_ = udp.Close()
		}
		if msg := ask(t, address, "web.default.svc.cluster.local.", dns.TypeA); err != nil || len(msg.Answer) != 1 {
			t.Errorf("after %s: %v, %v", name, msg, err)
		}
	}
}

// TestAnswersOfManyEndpoints: they fit what the protocol takes.
func TestAnswersOfManyEndpoints(t *testing.T) {
	s, address := serveDNS(t, func() []string { return nil })
	web := build(service("web"))
	web.Address = "None"
	for i := range 5000 {
		web.Endpoints = append(web.Endpoints, Endpoint{Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250), Ports: make([]int32, len(web.Ports)), Ready: true})
	}
	s.SetZone(NewZone([]Service{web}, DefaultRange, nil))
	for _, network := range []string{"udp", "tcp"} {
		client := dns.Client{Net: network}
		msg, _, err := client.Exchange(new(dns.Msg).SetQuestion("web.default.svc.cluster.local.", dns.TypeA), address)
		if err != nil || !msg.Truncated || len(msg.Answer) == 0 {
			t.Errorf("%s: %v, %v", network, msg, err)
		}
	}
}
