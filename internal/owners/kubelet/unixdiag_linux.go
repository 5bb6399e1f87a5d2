package kubelet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// unixSocket is a unix socket as the kernel lists it. name is "" for a socket
// without a path; peer is the inode of the other end, 0 if there is none.
type unixSocket struct {
	name        string
	inode, peer uint32
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

// unixSockets lists the unix sockets of the network namespace of this thread, perhaps
// one twice: an interrupted dump may lack a socket, and is repeated.
//
// netlink.UnixSocketDiagInfo of v1.3.1 is of no use: it takes a socket's type for its
// family, and silently ends its list at the first socket that is not a stream.
func unixSockets() ([]unixSocket, error) {
	var all []unixSocket
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
func parseUnixSocket(msg []byte) (unixSocket, error) {
	var s unixSocket
	if len(msg) < unixDiagMsgSize {
		return s, fmt.Errorf("a socket of %d bytes", len(msg))
	}
	s.inode = binary.NativeEndian.Uint32(msg[4:])
	attrs, err := nl.ParseRouteAttr(msg[unixDiagMsgSize:])
	if err != nil {
		return s, err
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case unixDiagName:
			name, _, _ := bytes.Cut(a.Value, []byte{0})
			s.name = string(name)
		case unixDiagPeer:
			if len(a.Value) != 4 {
				return s, fmt.Errorf("a peer of %d bytes", len(a.Value))
			}
			s.peer = binary.NativeEndian.Uint32(a.Value)
		}
	}
	return s, nil
}
