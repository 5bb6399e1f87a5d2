package lifecycle

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Action is something for the node to do, in the order in which it comes.
type Action interface {
	fmt.Stringer
	isAction()
}

// Attempt: find out whether the pod may start. The answer is Claim, and then
// Begin, Defer, Reject or Found; or Defer alone.
type Attempt struct{ UID types.UID }

// Run: hand the pod to its worker.
type Run struct {
	Pod  *v1.Pod
	Mode StartMode
}

// Update: give the pod's worker the new version of its manifest.
type Update struct{ Pod *v1.Pod }

// Kill: stop the pod, if its worker knows it.
type Kill struct {
	Pod   *v1.Pod
	Grace *int64
}

// TakeOver: hand a pod that was found to its worker, and stop it.
type TakeOver struct {
	Pod     *v1.Pod
	Runtime *pod.Pod
}

// Recreate: tell the pod's worker that the UID is created again after its end.
type Recreate struct{ Pod *v1.Pod }

// Remove: remove all that the pod left behind. The answer is RemovalDone.
type Remove struct{ UID types.UID }

// Drop: the pod's life is over and nothing of it is left.
type Drop struct {
	Pod *v1.Pod
	// Again: the same UID is desired and begins again.
	Again bool
	// Started: the pod had a worker, or left something behind.
	Started bool
}

// ReportWait: the pod waits for another reason than before.
type ReportWait struct {
	Pod  *v1.Pod
	Wait Wait
}

// ReportRejection: the pod was not admitted.
type ReportRejection struct {
	Pod *v1.Pod
	Err error
}

func (Attempt) isAction()         {}
func (Run) isAction()             {}
func (Update) isAction()          {}
func (Kill) isAction()            {}
func (TakeOver) isAction()        {}
func (Recreate) isAction()        {}
func (Remove) isAction()          {}
func (Drop) isAction()            {}
func (ReportWait) isAction()      {}
func (ReportRejection) isAction() {}

func (a Attempt) String() string { return "attempt" }
func (a Run) String() string     { return "run " + a.Mode.String() }
func (a Update) String() string  { return "update" }
func (a Kill) String() string {
	if a.Grace == nil {
		return "kill"
	}
	return fmt.Sprintf("kill grace=%d", *a.Grace)
}
func (a TakeOver) String() string {
	if a.Runtime != nil {
		return "take over runtime-only"
	}
	return "take over"
}
func (a Recreate) String() string { return "recreate" }
func (a Remove) String() string   { return "remove" }
func (a Drop) String() string {
	text := "drop"
	if a.Again {
		text += " again"
	}
	if a.Started {
		text += " started"
	}
	return text
}
func (a ReportWait) String() string      { return "report " + a.Wait.Reason.String() }
func (a ReportRejection) String() string { return "report rejection" }
