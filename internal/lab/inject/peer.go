package inject

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Credentials returns those of a server whose rules match by caller and close connections:
// none. callerOf identifies the other end of a connection.
func Credentials(callerOf func(net.Conn) relay.Caller) credentials.TransportCredentials {
	return peers{insecure.NewCredentials(), callerOf}
}

type peers struct {
	credentials.TransportCredentials
	callerOf func(net.Conn) relay.Caller
}

// peer is the other end of a connection. The zero value is one that is not known.
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
func (p peers) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, peer{p.callerOf(conn), conn}, nil
}

// Clone implements credentials.TransportCredentials.
func (p peers) Clone() credentials.TransportCredentials { return p }
