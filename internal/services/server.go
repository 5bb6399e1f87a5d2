package services

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

// Bounds of the server; clients.go has those of its clients.
const (
	// maxForwarded is how many queries wait for the node's resolvers, which are asked once for equal ones. The others
	// fail, and are asked again.
	maxForwarded = 512
	// maxAnswered bounds the queries that are answered at a time, those that wait included. The others are dropped.
	maxAnswered = maxForwarded + 256
	// maxCached bounds the answers that are remembered, maxCachedFor how long, and maxCachedSize one of them, in bytes.
	maxCached     = 4096
	maxCachedFor  = 30 * time.Second
	maxCachedSize = 4096
	// forwardTimeout bounds the wait for one resolver, and forwardDeadline that for all.
	forwardTimeout  = 2 * time.Second
	forwardDeadline = 5 * time.Second
	maxUDP          = 1232
)

// Server answers DNS queries: those about the zone itself, all others by the node's resolvers. Make one
// with NewServer.
type Server struct {
	zone atomic.Pointer[Zone]
	// resolvers returns the addresses and ports of the node's resolvers, without itself.
	resolvers func() []string
	clients   *clients
	log       *slog.Logger
	servers   []*dns.Server

	answering, forwarding chan struct{}
	// flights has one query to the resolvers for all that ask the same: a loop of resolvers, which
	// asks this server again what it asks them, ends with the deadline of the first.
	flights singleflight.Group
	cache   *cache.LRUExpireCache
}

// NewServer returns a server, which has to have a zone before it serves. isOfHost reports whether a client is this machine or on it.
func NewServer(resolvers func() []string, isOfHost func(netip.Addr) bool, log *slog.Logger) *Server {
	return &Server{
		resolvers: resolvers, clients: newClients(isOfHost), log: log, cache: cache.NewLRUExpireCache(maxCached),
		answering: make(chan struct{}, maxAnswered), forwarding: make(chan struct{}, maxForwarded),
	}
}

// SetZone replaces the zone.
func (s *Server) SetZone(z *Zone) { s.zone.Store(z) }

// Serve answers at both until Close.
func (s *Server) Serve(udp net.PacketConn, tcp net.Listener) {
	s.servers = []*dns.Server{
		{PacketConn: udp, Handler: s, UDPSize: dns.MaxMsgSize / 16},
		{Listener: clientListener{netutil.LimitListener(tcp, maxConns), s}, Handler: s, ReadTimeout: 2 * time.Second},
	}
	for _, server := range s.servers {
		started := make(chan struct{})
		server.NotifyStartedFunc = sync.OnceFunc(func() { close(started) })
		go func() {
			if err := server.ActivateAndServe(); err != nil {
				s.log.Warn("DNS server", "err", err)
			}
			server.NotifyStartedFunc()
		}()
		<-started
	}
}

// Close ends the server.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, server := range s.servers {
		_ = server.ShutdownContext(ctx) // it is closed then
	}
}

// ServeDNS implements dns.Handler.
func (s *Server) ServeDNS(w dns.ResponseWriter, req *dns.Msg) {
	if !s.clients.admit(w.RemoteAddr(), s.zone.Load()) {
		return
	}
	select {
	case s.answering <- struct{}{}:
	default:
		return
	}
	msg := new(dns.Msg)
	if len(req.Question) == 1 && req.Opcode == dns.OpcodeQuery {
		msg = s.reply(req, addrOf(w.RemoteAddr()))
	} else {
		msg.SetRcode(req, dns.RcodeFormatError)
	}
	size := dns.MaxMsgSize
	if w.LocalAddr().Network() == "udp" {
		size = dns.MinMsgSize
		if opt := req.IsEdns0(); opt != nil {
			size = min(max(size, int(opt.UDPSize())), maxUDP)
			msg.SetEdns0(maxUDP, false)
		}
	}
	msg.Truncate(size)
	<-s.answering       // what is left is bounded by the connections
	_ = w.WriteMsg(msg) // the client may be gone
}

func (s *Server) reply(req *dns.Msg, client netip.Addr) *dns.Msg {
	q := req.Question[0]
	found := s.resolve(q, client)
	if found.Authoritative {
		rand.Shuffle(len(found.Answer), func(i, j int) { found.Answer[i], found.Answer[j] = found.Answer[j], found.Answer[i] })
		for _, r := range found.Answer {
			// An alias may be a name of the zone, whose own alias is left to the client.
			if alias, is := r.(*dns.CNAME); is && q.Qtype != dns.TypeCNAME {
				found.Answer = append(found.Answer, s.resolve(dns.Question{Name: alias.Target, Qtype: q.Qtype, Qclass: q.Qclass}, client).Answer...)
			}
		}
	}
	msg := new(dns.Msg).SetReply(req)
	msg.RecursionAvailable, msg.Authoritative, msg.Rcode = true, found.Authoritative, found.Rcode
	msg.Truncated = found.Authoritative && found.Truncated
	msg.Answer, msg.Ns = found.Answer, found.Ns
	msg.Extra = slices.DeleteFunc(found.Extra, func(r dns.RR) bool { return r.Header().Rrtype == dns.TypeOPT })
	return msg
}

// resolve answers from the zone, or asks the node's resolvers.
func (s *Server) resolve(q dns.Question, client netip.Addr) *dns.Msg {
	if msg := s.zone.Load().answer(q); msg != nil {
		return msg
	}
	msg := s.forward(q, client)
	msg.Authoritative = false
	return msg
}

// forward returns a copy of the remembered answer, or asks the node's resolvers.
func (s *Server) forward(q dns.Question, client netip.Addr) *dns.Msg {
	key := strings.ToLower(q.Name) + " " + dns.Type(q.Qtype).String() + " " + dns.Class(q.Qclass).String()
	if known, ok := s.cache.Get(key); ok {
		if msg, err := known.(remembered).current(); err == nil {
			return msg
		}
	}
	failed := &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeServerFailure}}
	release, ok := s.clients.hold(s.clients.forwarded, client, maxClientForwarded)
	if !ok {
		return failed
	}
	defer release()
	select {
	case s.forwarding <- struct{}{}:
		defer func() { <-s.forwarding }()
	default:
		return failed
	}
	answer, _, _ := s.flights.Do(key, func() (any, error) {
		msg := cmp.Or(s.ask(q), failed)
		s.remember(key, msg)
		return msg, nil
	})
	return answer.(*dns.Msg).Copy()
}

// ask queries the resolvers in order. It returns the first answer, else the last refusal, nil if none responds.
func (s *Server) ask(q dns.Question) *dns.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), forwardDeadline)
	defer cancel()
	req := new(dns.Msg).SetQuestion(q.Name, q.Qtype)
	req.Question[0].Qclass = q.Qclass
	req.SetEdns0(maxUDP, false)
	var refused *dns.Msg
	for _, server := range s.resolvers() {
		for _, network := range []string{"udp", "tcp"} {
			client := &dns.Client{Net: network, Timeout: forwardTimeout, UDPSize: maxUDP}
			msg, _, err := client.ExchangeContext(ctx, req, server)
			if err != nil {
				break
			}
			if msg.Truncated && network == "udp" {
				continue
			}
			if msg.Rcode == dns.RcodeSuccess || msg.Rcode == dns.RcodeNameError {
				return msg
			}
			refused = msg
			break
		}
	}
	return refused
}

// remember keeps an answer for as long as its records allow.
func (s *Server) remember(key string, msg *dns.Msg) {
	if msg.Rcode != dns.RcodeSuccess && msg.Rcode != dns.RcodeNameError {
		return
	}
	packed, err := msg.Pack()
	if err != nil || len(packed) > maxCachedSize {
		return
	}
	keep := maxCachedFor
	for _, r := range slices.Concat(msg.Answer, msg.Ns) {
		keep = min(keep, time.Duration(r.Header().Ttl)*time.Second)
	}
	if len(msg.Answer)+len(msg.Ns) == 0 {
		keep = recordTTL * time.Second
	}
	s.cache.Add(key, remembered{packed, time.Now()}, keep)
}

// remembered is an answer as it is sent, which takes much less memory, and since when.
type remembered struct {
	packed []byte
	since  time.Time
}

// current returns the answer, whose records may be kept for as long as they still may.
func (r remembered) current() (*dns.Msg, error) {
	msg, age := new(dns.Msg), uint32(time.Since(r.since)/time.Second)
	if err := msg.Unpack(r.packed); err != nil {
		return nil, err
	}
	for _, record := range slices.Concat(msg.Answer, msg.Ns, msg.Extra) {
		if h := record.Header(); h.Rrtype != dns.TypeOPT {
			h.Ttl -= min(h.Ttl, age)
		}
	}
	return msg, nil
}
