package recording

import (
	"context"
	"net"
	"path"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
)

// Recording is a recording that was read. It is immutable, and so safe for concurrent use.
type Recording struct {
	Header  Header
	answers map[questionKey]answer
	// owners and node are nil, and files are none, if they were not recorded.
	owners *owners.Saved
	node   *arrival.Saved
	files  []File
}

// questionKey is what a call asks: the CRI's name of it, and an id.
type questionKey struct{ method, subject string }

// answer is a message in the form of protobuf, or the error in its place.
type answer struct {
	message []byte
	status  *status.Status
}

// Owners returns what the owners of the pods answered, nil if they were not asked.
func (t *Recording) Owners() *owners.Saved { return t.owners }

// Node returns the node at which pods would have arrived, nil if it was not recorded.
func (t *Recording) Node() *arrival.Saved { return t.node }

// Answer returns what the runtime answered to a call; the error is a gRPC status. name is the
// CRI's name of the call.
func (t *Recording) Answer(name string, request []byte) ([]byte, error) {
	if name == "ImageStatus" {
		return t.imageStatus(request)
	}
	q := questions[name]
	if q == nil {
		return nil, notRecorded(name)
	}
	about, err := q.idOf(request)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	a, ok := t.answers[questionKey{name, about}]
	switch {
	case !ok:
		return nil, notRecorded(name)
	case a.status != nil:
		return nil, a.status.Err()
	}
	message, err := q.narrow(request, a.message)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return message, nil
}

// imageStatus answers from the list of images, which has the same of each.
func (t *Recording) imageStatus(request []byte) ([]byte, error) {
	var q runtimeapi.ImageStatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	list, err := t.Answer("ListImages", nil)
	if err != nil {
		return nil, err
	}
	var all runtimeapi.ListImagesResponse
	if err := proto.Unmarshal(list, &all); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	a := &runtimeapi.ImageStatusResponse{}
	if i := slices.IndexFunc(all.Images, func(i *runtimeapi.Image) bool { return isNamed(i, q.GetImage().GetImage()) }); i >= 0 {
		a.Image = all.Images[i]
	}
	return proto.Marshal(a)
}

// notRecorded is the error of what is not in the recording. It is not known, rather than gone.
func notRecorded(name string) error {
	return status.Errorf(codes.Unimplemented, "not recorded: %s", name)
}

// Server serves a recording as a CRI endpoint within the process.
type Server struct {
	*Recording
	server *grpc.Server
	listen *bufconn.Listener
	served sync.WaitGroup
}

// Serve serves a recording until Close.
func Serve(t *Recording) *Server {
	s := &Server{Recording: t, listen: bufconn.Listen(64 << 10)}
	s.server = grpc.NewServer(grpc.ForceServerCodecV2(relay.Codec{}), grpc.UnknownServiceHandler(s.handle), grpc.WaitForHandlers(true))
	s.served.Go(func() { _ = s.server.Serve(s.listen) })
	return s
}

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
	answer, err := s.Answer(name, request)
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}
