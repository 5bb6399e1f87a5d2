package recording

import (
	"encoding/json"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/lab/trace"
)

const (
	// formatName identifies a recording. formatVersion is the version that this package reads and
	// writes; fields may be added to it, since readers ignore those that they do not know.
	formatName    = "podctl-recording"
	formatVersion = 1

	// maxTotal bounds a recording without its compression, maxLine each of its lines, in bytes.
	maxTotal = 64 << 20
	maxLine  = 16 << 20
	// maxObjects bounds the JSON values with fields in a line, empty ones included: a message
	// takes some hundred bytes of memory, however short it is written. maxKubernetes does for
	// what owners said, whose objects are larger, maxEntries for values of any kind, and
	// maxAllObjects for the whole recording.
	maxObjects    = 1 << 18
	maxKubernetes = 1 << 16
	maxEntries    = 1 << 18
	maxAllObjects = 1 << 20
	// maxLines bounds the lines of a recording.
	maxLines = 1 << 18
)

// Header is the first line of a recording.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Podctl is the version of podctl that recorded it, Host the name of the node.
	Podctl string `json:"podctl"`
	Host   string `json:"host,omitempty"`
	// Runtime is the runtime's name and version, Endpoint where it was asked.
	Runtime  string `json:"runtime"`
	Endpoint string `json:"endpoint"`
	// PID is the process that served it, 0 if that is not known.
	PID int `json:"pid,omitempty"`
	// Time is when the last answer had come.
	Time time.Time `json:"time"`
}

// line is every line after the first.
type line struct {
	// Call is the CRI's name of the call.
	Call    string          `json:"call,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	// Answer is what the runtime answered. Error is in its place.
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *failure        `json:"error,omitempty"`
	// Owners are what the owners of the pods answered: owners.Saved. Node is the node at which
	// pods arrive: arrival.Saved. File is a file of the host. Such lines have no Call.
	Owners json.RawMessage `json:"owners,omitempty"`
	Node   json.RawMessage `json:"node,omitempty"`
	File   *File           `json:"file,omitempty"`
	// End is set in the last line: the number of lines between the header and it.
	End *int `json:"end,omitempty"`
}

// failure is an error of a call.
type failure struct {
	Code string `json:"code"` // as gRPC names it: NotFound
	Text string `json:"text"`
}

// method is a call of the CRI that is recorded.
type method struct {
	full    string // as gRPC names it
	in, out protoreflect.MessageType
}

// methods are the calls that are recorded, by the CRI's name.
var methods = sync.OnceValue(func() map[string]method {
	known := map[string]method{}
	for full, m := range trace.CRIMethods() {
		if name := path.Base(full); questions[name] != nil {
			known[name] = method{full: full, in: m.Request, out: m.Response}
		}
	}
	return known
})

// canonical returns the bytes of a message, the same for equal messages.
func canonical(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// codeOf returns the code of a name that gRPC gives it; ok is false if it gives none.
func codeOf(name string) (code codes.Code, ok bool) {
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return codes.Unknown, false
}
