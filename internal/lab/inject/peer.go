package inject

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Credentials returns the transport credentials that a server needs for rules that match a caller
// or close its connection. They neither authenticate nor encrypt. callerOf identifies the peer of
// a connection.
func Credentials(callerOf func(net.Conn) relay.Caller) credentials.TransportCredentials {
	return peerCredentials{insecure.NewCredentials(), callerOf}
}

type peerCredentials struct {
	credentials.TransportCredentials
	callerOf func(net.Conn) relay.Caller
}

// peer is the peer of a connection. The zero value is an unknown one.
type peer struct {
	caller relay.Caller
	conn   net.Conn
}

// peerOf returns the caller of a call.
func peerOf(ctx context.Context) peer {
	if from, ok := grpcpeer.FromContext(ctx); ok {
		if p, ok := from.AuthInfo.(peer); ok {
			return p
		}
	}
	return peer{}
}

// AuthType implements credentials.AuthInfo.
func (peer) AuthType() string { return "unix" }

// ServerHandshake exchanges nothing.
func (p peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, peer{p.callerOf(conn), conn}, nil
}

// Clone implements credentials.TransportCredentials.
func (p peerCredentials) Clone() credentials.TransportCredentials { return p }
