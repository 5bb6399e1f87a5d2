package kubelet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of linux/inet_diag.h: the sizes of struct inet_diag_sockid and inet_diag_msg, and where
// the id begins in the request and in the message, and the inode in the message.
const (
	socketIDSize    = 48
	inetDiagMsgSize = 72
	requestID       = 8
	msgID           = 4
	msgInode        = 68
)

// tcpDiagRequest asks for the TCP socket with these ends.
type tcpDiagRequest struct{ local, remote netip.AddrPort }

func (tcpDiagRequest) Len() int { return requestID + socketIDSize }

func (r tcpDiagRequest) Serialize() []byte {
	b := make([]byte, r.Len())
	b[0], b[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if r.local.Addr().Is4() {
		b[0] = unix.AF_INET
	}
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0)) // in any state
	id := b[requestID:]
	binary.BigEndian.PutUint16(id, r.local.Port())
	binary.BigEndian.PutUint16(id[2:], r.remote.Port())
	copy(id[4:], r.local.Addr().AsSlice())
	copy(id[20:], r.remote.Addr().AsSlice())
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // INET_DIAG_NOCOOKIE
	return b
}

// tcpSocket returns the inode of the TCP socket with these ends, in the network
// namespace of this thread. A server's end that it has not accepted, or has closed, is
// an error.
func tcpSocket(local, remote netip.AddrPort) (inode uint32, err error) {
	want := tcpDiagRequest{withoutZone(local), withoutZone(remote)}
	req := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, 0)
	req.AddData(want)
	msgs, err := req.Execute(unix.NETLINK_SOCK_DIAG, nl.SOCK_DIAG_BY_FAMILY)
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, fmt.Errorf("no socket of this host serves %s", local)
	case err != nil:
		return 0, fmt.Errorf("look for the socket that serves %s: %w", local, err)
	case len(msgs) != 1:
		return 0, fmt.Errorf("%d sockets serve %s", len(msgs), local)
	}
	inode, found, err := parseTCPSocket(msgs[0])
	switch {
	case err != nil:
		return 0, fmt.Errorf("look for the socket that serves %s: %w", local, err)
	case found != want || inode == 0: // the kernel answers with the listener where it has no connection
		return 0, fmt.Errorf("the connection to %s is not open in its server", local)
	}
	return inode, nil
}

// parseTCPSocket reads a struct inet_diag_msg.
func parseTCPSocket(msg []byte) (inode uint32, ends tcpDiagRequest, err error) {
	if len(msg) < inetDiagMsgSize {
		return 0, ends, fmt.Errorf("a socket of %d bytes", len(msg))
	}
	id := msg[msgID:]
	address := func(from int, port uint16) netip.AddrPort {
		size := 16
		if msg[0] == unix.AF_INET {
			size = 4
		}
		addr, _ := netip.AddrFromSlice(id[from : from+size]) // of one of its sizes
		return withoutZone(netip.AddrPortFrom(addr, port))
	}
	ends = tcpDiagRequest{
		local: address(4, binary.BigEndian.Uint16(id)), remote: address(20, binary.BigEndian.Uint16(id[2:])),
	}
	return binary.NativeEndian.Uint32(msg[msgInode:]), ends, nil
}

// withoutZone is an address as the kernel compares it: one of IPv4 is the same in IPv6.
func withoutZone(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
