package tape

import (
	"slices"
	"sort"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
)

// Tape is a recording that was read. It is immutable, and so safe for concurrent use.
type Tape struct {
	Header Header
	// calls are in the order of their answers. byQuestion has their indices, ascending.
	calls      []Call
	byQuestion map[questionKey][]int
	// owners and node are nil, and files are none, if they were not recorded.
	owners *owners.Saved
	node   *arrival.Saved
	files  []File
	// end is when the recording ended.
	end time.Time
}

// questionKey is what a call asks.
type questionKey struct{ method, subject string }

// End returns the time at which the recording ended: by then everything on it had been answered.
func (t *Tape) End() time.Time { return t.end }

// Owners returns what the owners of the pods answered at the end, nil if they were not asked.
func (t *Tape) Owners() *owners.Saved { return t.owners }

// Node returns the node at which pods would have arrived at the end, nil if it was not recorded.
func (t *Tape) Node() *arrival.Saved { return t.node }

// add adds a call that came after all others.
func (t *Tape) add(name string, c Call) error {
	about := ""
	if q := questions[name]; q != nil {
		var err error
		if about, err = q.idOf(c.Request); err != nil {
			return err
		}
	}
	at := questionKey{name, about}
	t.byQuestion[at] = append(t.byQuestion[at], len(t.calls))
	t.calls = append(t.calls, c)
	return nil
}

// lastAnswer returns the last answer to a question that had come at a time, nil if none had.
func (t *Tape) lastAnswer(about questionKey, at time.Time) *Call {
	numbers := t.byQuestion[about]
	n := sort.Search(len(numbers), func(i int) bool { return t.calls[numbers[i]].At.After(at) })
	if n == 0 {
		return nil
	}
	return &t.calls[numbers[n-1]]
}

// Answer returns what the runtime answered to a call at a time; the error is a gRPC status. name
// is the CRI's name of the call.
func (t *Tape) Answer(name string, request []byte, at time.Time) ([]byte, error) {
	if name == "ImageStatus" {
		return t.imageStatus(request, at)
	}
	q := questions[name]
	if q == nil {
		return nil, notRecorded(name)
	}
	about, err := q.idOf(request)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	c := t.lastAnswer(questionKey{name, about}, at)
	switch {
	case c == nil:
		return nil, notRecorded(name)
	case c.Status != nil:
		return nil, c.Status.Err()
	}
	answer, err := q.narrow(request, c.Response)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return answer, nil
}

// imageStatus answers from the list of images, which has the same of each.
func (t *Tape) imageStatus(request []byte, at time.Time) ([]byte, error) {
	var q runtimeapi.ImageStatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	list, err := t.Answer("ListImages", nil, at)
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

// notRecorded is the error of what is not on the tape. It is not known, rather than gone.
func notRecorded(name string) error {
	return status.Errorf(codes.Unimplemented, "not recorded: %s", name)
}
