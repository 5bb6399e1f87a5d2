package diagnose

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/owners/control"
)

// judgeLocks examines the locks for which the pod's podctl waits.
func judgeLocks(f Facts, now time.Time) (Verdict, bool) {
	l, waits := f.lock(now)
	if !waits {
		return Verdict{}, false
	}
	why := fmt.Sprintf("%s has been waiting for the lock on %s for %s", f.Worker.Operation, l.Path, age(now.Sub(l.Since)))
	v := Verdict{Layer: LayerLock, Confidence: Observed, Next: []string{"fuser -v " + l.Path}}
	switch {
	case l.PID == 0:
		v.Why = why + "; its holder is not visible"
		return v, true
	case l.Command == "":
		why += fmt.Sprintf(", which pid %d holds", l.PID)
	default:
		why += fmt.Sprintf(", which %s (pid %d) holds", l.Command, l.PID)
	}
	v.Why, v.Next = why, []string{fmt.Sprintf("ps -fp %d", l.PID)}
	return v, true
}

// lock is the lock that has been waited for longest, if for long enough to matter.
func (f Facts) lock(now time.Time) (control.Lock, bool) {
	if f.Worker == nil || len(f.Worker.Locks) == 0 {
		return control.Lock{}, false
	}
	l := f.Worker.Locks[0]
	return l, now.Sub(l.Since) >= slowLock
}
