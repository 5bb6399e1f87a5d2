package oracle

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// workerOps is worker.Ops that records its calls, and answers each as the
// history says: a script is used up by the pod's next call of that operation,
// and a call without one succeeds.
type workerOps struct {
	mu      sync.Mutex
	calls   []workerCall
	scripts map[workerScript]string
}

type workerScript struct {
	uid types.UID
	op  string
}

var errWorkerScript = errors.New("scripted")

func newWorkerOps() *workerOps { return &workerOps{scripts: map[workerScript]string{}} }

func (o *workerOps) script(uid types.UID, op, result string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scripts[workerScript{uid, op}] = result
}

// call records a call and returns its scripted result.
func (o *workerOps) call(c workerCall) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, c)
	key := workerScript{c.UID, c.Op}
	result := o.scripts[key]
	delete(o.scripts, key)
	return result
}

// take returns the calls since the last take.
func (o *workerOps) take() []workerCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	calls := o.calls
	o.calls = nil
	return calls
}

func workerError(result string) error {
	if result == "error" {
		return errWorkerScript
	}
	return nil
}

var _ worker.Ops = (*workerOps)(nil)

func (o *workerOps) Sync(_ context.Context, in worker.SyncInput) (bool, error) {
	result := o.call(workerCall{UID: in.Pod.UID, Op: "sync", Type: in.Type.String()})
	return result == "terminal", workerError(result)
}

func (o *workerOps) Terminate(_ context.Context, in worker.TerminateInput) error {
	return workerError(o.call(workerCall{UID: in.Pod.UID, Op: "terminating", Grace: in.Grace}))
}

func (o *workerOps) TerminateRuntime(_ context.Context, p *pod.Pod) error {
	return workerError(o.call(workerCall{UID: p.UID, Op: "terminatingRuntime"}))
}

func (o *workerOps) Cleanup(_ context.Context, in worker.CleanupInput) error {
	return workerError(o.call(workerCall{UID: in.Pod.UID, Op: "terminated"}))
}
