package kubelet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// unixSocket is a unix socket as the kernel shows it. name is "" for one of
// no name or of an abstract one; peer is the inode of the other end, 0 if
// there is none.
type unixSocket struct {
	name string
	peer uint32
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

// dumps is how often an interrupted dump is begun again.
const dumps = 5

// unixSockets lists the unix sockets of this network namespace. It does not
// use netlink.UnixSocketDiagInfo, which in v1.3.1 takes a socket's type for
// its family, and ends its list in silence at the first that is no stream. A
// dump that is interrupted may lack a socket that came or went meanwhile, so
// the list may have a socket twice.
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
