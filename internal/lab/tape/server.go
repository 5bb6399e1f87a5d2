package tape

import (
	"context"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/podctl/podctl/internal/lab/relay"
)

// Server serves a tape as a CRI endpoint within the process.
type Server struct {
	tape   *Tape
	at     atomic.Pointer[time.Time]
	server *grpc.Server
	listen *bufconn.Listener
	served sync.WaitGroup
}

// Serve serves a tape as of its end, until Close.
func Serve(t *Tape) *Server {
	s := &Server{tape: t, listen: bufconn.Listen(64 << 10)}
	s.SetTime(t.End())
	s.server = grpc.NewServer(grpc.ForceServerCodecV2(relay.Codec{}), grpc.UnknownServiceHandler(s.handle), grpc.WaitForHandlers(true))
	s.served.Go(func() { _ = s.server.Serve(s.listen) })
	return s
}

// Tape returns the tape that is served.
func (s *Server) Tape() *Tape { return s.tape }

// SetTime sets the time as of which calls are answered.
func (s *Server) SetTime(at time.Time) { s.at.Store(&at) }

// Dial connects to the server: what cri.Options.Dial wants.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.listen.DialContext(ctx) }

// Close ends the server and its connections.
func (s *Server) Close() {
	s.server.Stop()
	s.served.Wait()
}

// handle answers a call of any method.
func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	full, ok := grpc.MethodFromServerStream(stream)
	if !ok {
		return status.Error(codes.Internal, "a call without a method")
	}
	name := path.Base(full)
	if m, known := methods()[name]; name != "ImageStatus" && (!known || m.full != full) {
		return notRecorded(name)
	}
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	answer, err := s.tape.Answer(name, request, *s.at.Load())
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}
