package unixdiag

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Socket is a unix socket as the kernel lists it.
type Socket struct {
	// Name is the path that it was bound to, "" for none.
	Name string
	// Inode is the socket's own, Peer that of the other end, 0 if there is none.
	Inode, Peer uint32
}

// Of linux/unix_diag.h.
const (
	unixDiagName = 0
	unixDiagPeer = 2

	unixDiagMsgSize = 16
)

// unixDiagRequest asks for all unix sockets with name and peer.
type unixDiagRequest struct{}

func (unixDiagRequest) Len() int { return 24 }

func (r unixDiagRequest) Serialize() []byte {
	b := make([]byte, r.Len())
	b[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(b[4:], ^uint32(0)) // in any state
	binary.NativeEndian.PutUint32(b[12:], 1<<unixDiagName|1<<unixDiagPeer)
	return b
}

// dumps bounds the repetitions of an interrupted dump.
const dumps = 5

// List lists the unix sockets of the network namespace of this thread, perhaps
// one twice: an interrupted dump may lack a socket, and is repeated.
//
// netlink.UnixSocketDiagInfo of v1.3.1 is of no use: it takes a socket's type for its
// family, and silently ends its list at the first socket that is not a stream.
func List() ([]Socket, error) {
	var all []Socket
	for range dumps {
		var bad error
		req := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
		req.AddData(unixDiagRequest{})
		err := req.ExecuteIter(unix.NETLINK_SOCK_DIAG, nl.SOCK_DIAG_BY_FAMILY, func(msg []byte) bool {
			s, err := parseUnixSocket(msg)
			if err != nil {
				bad = fmt.Errorf("list unix sockets: %w", err)
				return false
			}
			all = append(all, s)
			return true
		})
		switch {
		case bad != nil:
			return nil, bad
		case err == nil:
			return all, nil
		case !errors.Is(err, nl.ErrDumpInterrupted):
			return nil, fmt.Errorf("list unix sockets: %w", err)
		}
	}
	return all, nil
}

// parseUnixSocket reads a struct unix_diag_msg and its attributes.
func parseUnixSocket(msg []byte) (Socket, error) {
	var s Socket
	if len(msg) < unixDiagMsgSize {
		return s, fmt.Errorf("a socket of %d bytes", len(msg))
	}
	s.Inode = binary.NativeEndian.Uint32(msg[4:])
	attrs, err := nl.ParseRouteAttr(msg[unixDiagMsgSize:])
	if err != nil {
		return s, err
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case unixDiagName:
			name, _, _ := bytes.Cut(a.Value, []byte{0})
			s.Name = string(name)
		case unixDiagPeer:
			if len(a.Value) != 4 {
				return s, fmt.Errorf("a peer of %d bytes", len(a.Value))
			}
			s.Peer = binary.NativeEndian.Uint32(a.Value)
		}
	}
	return s, nil
}
