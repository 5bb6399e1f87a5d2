package kubelet

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// provenTransport accepts a response only from the kubelet itself: everyone on the
// host may listen at a port that the kubelet does not use, or does not use now.
type provenTransport struct {
	kubelet *Process
	next    http.RoundTripper
}

// RoundTrip checks the connection once the header has arrived: the server has accepted
// it then, and the rest of the response is to come on it.
func (t provenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var conn net.Conn
	trace := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { conn = info.Conn },
	})
	resp, err := t.next.RoundTrip(r.WithContext(trace))
	if err != nil {
		return nil, err
	}
	if err := t.check(conn, resp); err != nil {
		_ = resp.Body.Close() // it is not read
		return nil, err
	}
	return resp, nil
}

// check returns nil if the server has a certificate of the kubelet, which proves that
// it has the key, or if its end of the connection is open in the kubelet's process.
func (t provenTransport) check(conn net.Conn, resp *http.Response) error {
	if resp.TLS != nil && slices.ContainsFunc(t.kubelet.servingCertificates(), resp.TLS.PeerCertificates[0].Equal) {
		return nil
	}
	pid := t.kubelet.PID
	held, err := serverHoldsConnection(pid, conn)
	switch {
	case err != nil:
		return hint.Errorf(seeKubeletHint, "cannot see whether the kubelet (pid %d) answered: %w", pid, err)
	case !held:
		return hint.Errorf("find that process: ss -tlnp 'sport = :"+resp.Request.URL.Port()+"'",
			"answered by another process than the kubelet (pid %d), which is not believed", pid)
	}
	return nil
}

// serverHoldsConnection reports whether a process of this host has the server's end of
// a connection open. The connection starts in the network namespace of the process.
func serverHoldsConnection(pid int, conn net.Conn) (bool, error) {
	client, clientErr := netip.ParseAddrPort(conn.LocalAddr().String())
	server, serverErr := netip.ParseAddrPort(conn.RemoteAddr().String())
	if clientErr != nil || serverErr != nil {
		return false, fmt.Errorf("%s is no address of TCP", conn.RemoteAddr())
	}
	var inode uint32
	err := inNetworkOf(pid, func() (err error) {
		inode, err = tcpSocket(server, client)
		return err
	})
	if err != nil {
		return false, err
	}
	sockets := proc.Default.Sockets(pid)
	if len(sockets) == 0 { // a kubelet is connected to its runtime
		return false, errors.New("its open files cannot be read")
	}
	return slices.Contains(sockets, inode), nil
}
