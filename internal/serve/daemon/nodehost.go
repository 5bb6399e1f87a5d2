package daemon

import (
	"cmp"
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/internal/worker"
)

// nodeHost is a node as the control socket serves it.
type nodeHost struct {
	*node.Node
	// id is the unique id of this process.
	id     string
	served *served
}

var _ control.Host = nodeHost{}

// ID implements control.Host.
func (h nodeHost) ID() string { return h.id }

// Pods implements control.Host.
func (h nodeHost) Pods() *v1.PodList {
	list := &v1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []v1.Pod{}}
	for _, i := range h.Node.Pods() {
		list.Items = append(list.Items, servedPod(i))
	}
	return list
}

// servedPod returns a pod with its status, as the kubelet's /pods has it.
func servedPod(i node.Info) v1.Pod {
	p := *i.Pod // a shallow copy: what it points to is not changed
	p.Status = i.Status
	switch {
	case i.Rejected != nil && p.Status.Phase == "":
		p.Status.Phase, p.Status.Reason, p.Status.Message = v1.PodPending, i.Wait.Reason.String(), i.Rejected.Error()
	case p.Status.Phase == "":
		p.Status.Phase = v1.PodPending
	}
	if i.WorkerPhase == worker.Terminating && !i.StopRequested.IsZero() {
		end := metav1.NewTime(i.StopRequested.Add(time.Duration(i.Grace) * time.Second))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &end, &i.Grace
	}
	return p
}

// Workers implements control.Host.
func (h nodeHost) Workers() []control.Worker {
	states := map[types.UID]worker.Info{}
	for _, w := range h.Node.Workers() {
		states[w.UID] = w
	}
	calls, locks, now := h.callsByPod(), locksByPod(), h.served.now()
	all := []control.Worker{}
	for _, i := range h.Node.Pods() {
		w := servedWorker(i, states[i.Pod.UID], now)
		w.Calls, w.Locks = calls[i.Pod.UID], locks[i.Pod.UID]
		all = append(all, w)
	}
	return all
}

// byClock returns when something was by the clock as it is now, which may have been set since: it
// is as long ago as the monotonic clock says.
func byClock(now, t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return now.Add(-now.Sub(t))
}

// servedWorker joins what the node and the worker know about a pod.
func servedWorker(i node.Info, s worker.Info, now time.Time) control.Worker {
	s.Since, s.RunningSince, i.Start.Since = byClock(now, s.Since), byClock(now, s.RunningSince), byClock(now, i.Start.Since)
	w := control.Worker{
		Namespace: i.Pod.Namespace, Name: i.Pod.Name, UID: i.Pod.UID,
		Phase: s.Phase.String(), Since: s.Since, PodPhase: cmp.Or(i.Status.Phase, v1.PodPending), WaitReason: i.WaitReason(),
		Desired: i.Desired, Orphan: s.Orphan, HasConfig: s.Pod() != nil, Static: s.Pod() != nil && pod.IsStatic(s.Pod()),
		Adopted: i.Adopted, Stopped: i.Stopped, Again: i.Again, WaitsForName: s.NameHolder,
		LastDone: s.LastDone, LastError: s.LastError, NextWake: i.NextWake, Unready: i.Unready, NotReady: pod.UnmetGates(&i.Status), Start: i.Start,
	}
	d := i.Display()
	w.PodStatus, w.Ready, w.Containers, w.Restarts = d.Status, d.Ready, d.Containers, d.Restarts
	w.Waiting = control.WaitingOf(&i.Status)
	for n := range w.Waiting {
		backOff := i.BackOffs[w.Waiting[n].Container]
		w.Waiting[n].RetryAt, w.Waiting[n].BackOffSeconds = backOff.RetryAt, backOff.Delay.Seconds()
	}
	for _, ip := range i.Status.PodIPs {
		w.IPs = append(w.IPs, ip.IP)
	}
	if i.Status.StartTime != nil {
		w.StartTime = i.Status.StartTime.Time
	}
	if i.Rejected != nil {
		w.Rejected, w.Advice, w.HostPort = i.Rejected.Error(), hint.Of(i.Rejected), i.HostPort()
	}
	if s.Cause != worker.CauseNone {
		w.Cause = s.Cause.String()
	}
	if s.Running != worker.OpNone {
		w.Operation, w.OperationSince = s.Running.String(), s.RunningSince
	}
	if !s.Pending.IsZero() {
		w.Pending = s.Pending.String()
	}
	if s.Phase == worker.Terminating {
		w.StopRequested, w.GraceSeconds = s.Since, s.Grace
		if s.Grace > 0 {
			left := s.Grace - int64(now.Sub(s.Since)/time.Second)
			w.GraceLeftSeconds = &left
		}
	}
	return w
}

// callsByPod returns the calls in flight about the containers and sandboxes of
// the pods that were listed.
func (h nodeHost) callsByPod() map[types.UID][]control.Call {
	calls := h.served.calls.InFlight()
	if len(calls) == 0 {
		return nil
	}
	byPod := map[types.UID][]control.Call{}
	for _, p := range h.RuntimePods() {
		names := p.IDs()
		for _, c := range calls {
			if name, ours := names[c.ID]; ours && c.ID != "" {
				byPod[p.UID] = append(byPod[p.UID], control.Call{Method: c.Method, ID: c.ID, Container: name, Since: byClock(h.served.now(), c.Since)})
			}
		}
	}
	return byPod
}

// locksByPod returns the locks for which operations wait. The holders are looked
// up only while there is such a wait, once for each lock.
func locksByPod() map[types.UID][]control.Lock {
	byPod, held := map[types.UID][]control.Lock{}, map[string]control.Lock{}
	for _, w := range flock.Current() {
		if w.For == "" {
			continue
		}
		l, known := held[w.Path]
		if !known {
			l = control.Lock{Path: w.Path, PID: proc.Default.LockHolder(w.Path)}
			if l.PID != 0 {
				l.Command = proc.Default.Comm(l.PID)
			}
			held[w.Path] = l
		}
		l.Since = w.Since
		byPod[types.UID(w.For)] = append(byPod[types.UID(w.For)], l)
	}
	return byPod
}

// Stop implements control.Host.
func (h nodeHost) Stop(ctx context.Context, namespace, name string, grace *int64) error {
	return asNotFound(h.Node.Stop(ctx, namespace, name, grace))
}

// Start implements control.Host.
func (h nodeHost) Start(ctx context.Context, namespace, name string) error {
	return asNotFound(h.Node.Start(ctx, namespace, name))
}

// Restart implements control.Host.
func (h nodeHost) Restart(namespace, name string, containers map[string]string, force bool) error {
	return asNotFound(h.Node.Restart(namespace, name, containers, force))
}

// Debug implements control.Host.
func (h nodeHost) Debug(namespace, name string, c v1.EphemeralContainer) error {
	return asNotFound(h.Node.Debug(namespace, name, c))
}

// SetCondition implements control.Host.
func (h nodeHost) SetCondition(namespace, name string, c v1.PodCondition) error {
	return asNotFound(h.Node.SetCondition(namespace, name, c))
}

// NodeObject implements control.Host.
func (h nodeHost) NodeObject() *v1.Node {
	return &v1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: h.Name()},
		Status:     v1.NodeStatus{Allocatable: h.Allocatable()},
	}
}

// Checks implements control.Host.
func (h nodeHost) Checks() []control.Check {
	return []control.Check{
		{Name: "syncloop", Run: h.LoopHealthy},
		{Name: "pleg", Runtime: true, Run: func() error { _, err := h.PLEG(); return err }},
	}
}

// asNotFound turns the node's error for a pod that it does not have into control's.
func asNotFound(err error) error {
	if errors.Is(err, node.ErrNoPod) {
		return notFoundError{err}
	}
	return err
}

type notFoundError struct{ error }

func (notFoundError) Is(target error) bool { return target == control.ErrNotFound }

func (e notFoundError) Unwrap() error { return e.error }
