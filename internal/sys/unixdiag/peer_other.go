//go:build !linux

package unixdiag

import (
	"errors"
	"net"
)

// InodeAndPeer is known on Linux only.
func InodeAndPeer(*net.UnixConn) (uint32, int, error) { return 0, 0, errors.ErrUnsupported }
