package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/view"
)

// Session is a connection to the runtime and what it lists.
type Session struct {
	Client *cri.Client
	// Pods are all pods of the runtime, and those of live podctl processes: as
	// they were when the session was opened, or listed the last time.
	Pods []*view.Pod
	// Answers are those of the owners of the pods, nil if they were not asked.
	Answers *owners.Answers
	// CountUndesired is that of owners.Asker.
	CountUndesired bool
	// Paths are podctl's directories on the runtime.
	Paths host.Paths

	reader     *view.Reader
	disconnect func()
}

// ConnectSession connects to the runtime and lists nothing.
func ConnectSession(ctx context.Context, e *Env, g Globals) (*Session, error) {
	client, disconnect, err := Connect(ctx, e, g)
	if err != nil {
		return nil, err
	}
	return &Session{Client: client, disconnect: disconnect, reader: &view.Reader{Asker: owners.Asker{Dial: e.Dial}}}, nil
}

// OpenSession connects to the runtime and lists it once, with the owners of its pods.
func OpenSession(ctx context.Context, e *Env, g Globals) (*Session, error) {
	s, err := ConnectSession(ctx, e, g)
	if err != nil {
		return nil, err
	}
	if err := s.ListOwned(ctx, e, g); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close disconnects from the runtime.
func (s *Session) Close() { s.disconnect() }

// List lists the runtime again, after ListOwned.
func (s *Session) List(ctx context.Context) error {
	pods, answers, err := s.reader.List(ctx, s.Client, s.reader.Start(ctx))
	if err == nil {
		s.Pods, s.Answers = pods, answers
	}
	return err
}

// ListOwned lists the runtime, with the owners of its pods. A pod that was not found may
// be one that its owner reports.
func (s *Session) ListOwned(ctx context.Context, e *Env, g Globals) (err error) {
	if s.Paths, err = g.Paths(s.Client.Endpoint()); err != nil {
		return err
	}
	s.reader = NewReader(e, s.Client.Endpoint(), s.Paths)
	s.reader.Runtime = s.Client
	s.reader.CountUndesired = s.CountUndesired
	return s.List(ctx)
}

// ListAlone lists the runtime, without the owners of its pods.
func (s *Session) ListAlone(ctx context.Context) error {
	listed, err := s.Client.ListPods(ctx)
	if err == nil {
		s.Pods = view.Merge(listed, owners.NotAsked())
	}
	return err
}

// Reader reads the pods, once ListOwned was called.
func (s *Session) Reader() *view.Reader { return s.reader }

// ReadObjects sets the objects of the pods of podctl processes that answer. Those of a
// kubelet are set already.
func (s *Session) ReadObjects(ctx context.Context, pods []*view.Pod) {
	ReadPodctlObjects(ctx, s.reader.Dial, pods)
}

// ManagerOf is a client of the podctl process that manages a pod.
func (s *Session) ManagerOf(p *view.Pod) *control.Client { return p.Manager.Client(s.reader.Dial) }

// LivePodctls are clients of the live podctl processes on the runtime.
func LivePodctls(ctx context.Context, e *Env, g Globals) ([]*control.Client, error) {
	endpoint, paths, err := FindSockets(ctx, g)
	if err != nil {
		return nil, err
	}
	clients, err := control.Find(paths.Locks, e.Dial)
	return slices.DeleteFunc(clients, func(c *control.Client) bool {
		return owners.HasOtherSocket(e.Procs, paths.Locks, c.Instance(), endpoint.Runtime)
	}), err
}

// FindSockets returns the runtime, and the directories of its podctl processes.
func FindSockets(ctx context.Context, g Globals) (endpoint cri.Endpoint, paths host.Paths, err error) {
	endpoint, err = cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.Runtime, Image: g.Image, Timeout: g.Timeout})
	if err != nil {
		return endpoint, paths, err
	}
	paths, err = g.Paths(endpoint)
	return endpoint, paths, err
}

// Reported returns the pods that live podctl processes report, with a warning, if
// the runtime does not answer; none for another error.
func Reported(e *Env, reader *view.Reader, asking *owners.PendingAnswers, err error) []*view.Pod {
	if !Unanswered(err) {
		return nil
	}
	pods, reportErr := reader.Reported(asking)
	if reportErr != nil {
		e.Log.Warn("podctl processes are not asked", "err", reportErr)
	}
	if len(pods) > 0 {
		fmt.Fprintln(e.Errw, "warning: the runtime does not answer: only pods that live podctl processes report are listed, in the last state that these know")
	}
	return pods
}

// Unanswered reports whether err is of a runtime that does not answer.
func Unanswered(err error) bool {
	return errors.Is(err, cri.ErrHung) || errors.Is(err, cri.ErrDeadline) || errors.Is(err, cri.ErrUnavailable)
}
