package worker

import (
	"fmt"
	"time"
)

// Effect is work that Step leaves to its caller, who carries the effects out
// in order before the pod's next event: Start, Cancel, Wake, Release, Name or
// Exit.
//
//sumtype:decl
type Effect interface {
	fmt.Stringer
	isEffect()
}

// Start begins an operation. It also calls off a wake-up of the pod: the
// operation's end asks for another one.
type Start struct {
	Op   Op
	Work Work
	// Since is when the pod's previous operation ended, zero if there was none.
	Since time.Time
	// Status is the last status override, for Terminate and Cleanup.
	Status StatusOverride
}

// Cancel tells the operation in flight to end early. Its end is still
// reported.
type Cancel struct{}

// Wake asks for a Due after this time, stretched by the caller's jitter. It
// replaces a wake-up that the pod has.
type Wake struct{ After time.Duration }

// Release tells these waiters that the pod is down.
type Release struct{ Waiters []WaiterID }

// Name changes who holds the pod's full name or waits for it.
type Name struct{ Change NameChange }

// Exit calls the pod's wake-up off. The pod is Finished, or forgotten: Unknown.
type Exit struct{}

func (Start) isEffect()   {}
func (Cancel) isEffect()  {}
func (Wake) isEffect()    {}
func (Release) isEffect() {}
func (Name) isEffect()    {}
func (Exit) isEffect()    {}

func (e Start) String() string {
	switch {
	case e.Op == OpSync:
		return fmt.Sprintf("start %s %s", e.Op, e.Work.Type)
	case e.Op == OpTerminate && e.Work.Grace != 0:
		return fmt.Sprintf("start %s grace=%d", e.Op, e.Work.Grace)
	}
	return fmt.Sprintf("start %s", e.Op)
}
func (Cancel) String() string    { return "cancel" }
func (e Wake) String() string    { return fmt.Sprintf("wake after %s", e.After) }
func (e Release) String() string { return fmt.Sprintf("release %v", e.Waiters) }
func (e Name) String() string    { return "name " + e.Change.String() }
func (Exit) String() string      { return "exit" }
