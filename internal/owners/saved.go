package owners

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
)

// Saved are Answers in a form that can be stored in a file. Errors are texts.
type Saved struct {
	Processes []SavedProcess        `json:"processes,omitempty"`
	Sources   []SavedSource         `json:"sources,omitempty"`
	Kubelet   SavedKubelet          `json:"kubelet"`
	Unseen    string                `json:"unseen,omitempty"`
	Unread    string                `json:"unread,omitempty"`
	Exited    map[string]owner.Exit `json:"exited,omitempty"`
	Names     []SavedName           `json:"names,omitempty"`
}

// SavedProcess is a podctl process that may own pods of the runtime. Pods and Node are what it
// shows at its control socket, nil if it was not asked for it.
type SavedProcess struct {
	Name      string                       `json:"name"`
	ID        string                       `json:"id,omitempty"`
	Socket    string                       `json:"socket,omitempty"`
	PID       int                          `json:"pid,omitempty"`
	Elsewhere bool                         `json:"elsewhere,omitempty"`
	Endpoint  string                       `json:"endpoint,omitempty"`
	Stopped   bool                         `json:"stopped,omitempty"`
	Settled   bool                         `json:"settled,omitempty"`
	Workers   map[types.UID]control.Worker `json:"workers,omitempty"`
	Err       string                       `json:"error,omitempty"`
	Pods      *v1.PodList                  `json:"pods,omitempty"`
	Node      *v1.Node                     `json:"node,omitempty"`
}

// SavedSource is a source beside podctl processes and the kubelet.
type SavedSource struct {
	Kind   SourceKind         `json:"kind"`
	Named  bool               `json:"named,omitempty"`
	Source string             `json:"source"`
	Pods   []*v1.Pod          `json:"pods,omitempty"`
	ByName bool               `json:"byName,omitempty"`
	MadeUp map[types.UID]bool `json:"madeUp,omitempty"`
	Err    string             `json:"error,omitempty"`
}

// SavedKubelet is a kubelet; the zero value is none.
type SavedKubelet struct {
	PID        int                `json:"pid,omitempty"`
	Asked      bool               `json:"asked,omitempty"`
	Source     string             `json:"source,omitempty"`
	Pods       []*v1.Pod          `json:"pods,omitempty"`
	Undesired  int                `json:"undesired,omitempty"`
	HasDir     map[types.UID]bool `json:"hasDir,omitempty"`
	Err        string             `json:"error,omitempty"`
	Incomplete string             `json:"incomplete,omitempty"`
	FindErr    string             `json:"findError,omitempty"`
	// Unsettled is why its desired pods are not all known; Absent: because there is none.
	Unsettled string `json:"unsettled,omitempty"`
	Absent    bool   `json:"absent,omitempty"`
}

// SavedName is a process that holds a full name.
type SavedName struct {
	FullName string       `json:"fullName"`
	Process  SavedProcess `json:"process"`
	Silent   bool         `json:"silent,omitempty"`
}

// Save returns the answers to be stored.
func (a *Answers) Save() Saved {
	k := &a.Kubelet
	_, absent := errors.AsType[*kubelet.AbsentError](k.Unsettled)
	s := Saved{
		Unseen: textOf(a.Unseen), Unread: textOf(a.Unread), Exited: a.Exited,
		Kubelet: SavedKubelet{
			PID: k.PID, Asked: k.Asked, Source: k.Source, Pods: k.Pods, Undesired: k.Undesired, HasDir: k.HasDir,
			Err: textOf(k.Err), Incomplete: textOf(k.Incomplete), FindErr: textOf(k.FindErr), Unsettled: textOf(k.Unsettled), Absent: absent,
		},
	}
	for _, p := range a.Processes {
		s.Processes = append(s.Processes, saveProcess(p))
	}
	for _, of := range a.Sources {
		s.Sources = append(s.Sources, SavedSource{of.Kind, of.Named, of.Source, of.Pods, of.ByName, of.MadeUp, textOf(of.Err)})
	}
	for name, h := range a.names {
		s.Names = append(s.Names, SavedName{name, saveProcess(h.Process), h.silent})
	}
	return s
}

// ReadObjects adds what the processes that answer show of their pods and their node.
func (s *Saved) ReadObjects(ctx context.Context, dial control.Dialer) {
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.Err != "" || p.Socket == "" || p.Elsewhere {
			continue
		}
		client := control.Process{Name: p.Name, ID: p.ID, Socket: p.Socket}.Client(dial)
		p.Pods, _ = client.Pods(ctx)
		if p.Node, _ = client.Node(ctx); p.Node != nil && p.Node.Name == "" {
			p.Node = nil // it did not answer
		}
	}
}

// objectsTimeout bounds ReadObjects.
const objectsTimeout = 2 * time.Second

func saveProcess(p Process) SavedProcess {
	return SavedProcess{
		Name: p.Name, ID: p.ID, Socket: p.Socket, PID: p.PID, Elsewhere: p.Elsewhere, Endpoint: p.Endpoint, Stopped: p.Stopped, Settled: p.Settled,
		Workers: p.Workers, Err: textOf(p.Err),
	}
}

// Answers returns the answers that were stored.
func (s Saved) Answers() *Answers {
	k := s.Kubelet
	k.Pods = present(k.Pods)
	a := &Answers{
		Unseen: errorOf(s.Unseen), Unread: errorOf(s.Unread), Exited: s.Exited, names: map[string]nameHolder{},
		Kubelet: Kubelet{
			Answer: kubelet.Answer{Source: k.Source, PID: k.PID, Pods: k.Pods, Undesired: k.Undesired, Err: errorOf(k.Err), Incomplete: errorOf(k.Incomplete)},
			Asked:  k.Asked, HasDir: k.HasDir, FindErr: errorOf(k.FindErr), Unsettled: errorOf(k.Unsettled),
		},
	}
	if k.Absent {
		a.Kubelet.Unsettled = &kubelet.AbsentError{}
	}
	if k.PID != 0 {
		a.Kubelet.Process = &kubelet.Process{PID: k.PID}
	}
	for _, p := range s.Processes {
		a.Processes = append(a.Processes, p.process())
	}
	for _, of := range s.Sources {
		a.Sources = append(a.Sources, Source{
			Answer: sources.Answer{Source: of.Source, Pods: present(of.Pods), ByName: of.ByName, MadeUp: of.MadeUp, Err: errorOf(of.Err)}, Kind: of.Kind, Named: of.Named,
		})
	}
	for _, n := range s.Names {
		a.names[n.FullName] = nameHolder{n.Process.process(), n.Silent}
	}
	return a
}

// present returns the pods that are there: a file may have null in their place.
func present(pods []*v1.Pod) []*v1.Pod {
	return slices.DeleteFunc(pods, func(p *v1.Pod) bool { return p == nil })
}

func (p SavedProcess) process() Process {
	return Process{
		Process: control.Process{Name: p.Name, ID: p.ID, Socket: p.Socket}, PID: p.PID, Elsewhere: p.Elsewhere, Endpoint: p.Endpoint,
		Stopped: p.Stopped, Settled: p.Settled, Workers: p.Workers, Err: errorOf(p.Err),
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
