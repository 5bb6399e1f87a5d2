package shell

import (
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
)

// Outage lets a watching command tolerate a restart of the runtime. The zero value with Env is ready
// to use.
type Outage struct {
	Env *Env
	// ongoing: the runtime did not answer the last call.
	ongoing bool
}

// Ongoing reports whether err is that of a runtime that does not answer, as during a restart, and
// prints a warning for the first such error. Any other error, and nil, ends the outage.
func (o *Outage) Ongoing(err error) bool {
	if !errors.Is(err, cri.ErrUnavailable) && !errors.Is(err, cri.ErrDeadline) {
		o.ongoing = false
		return false
	}
	if !o.ongoing {
		fmt.Fprintf(o.Env.Errw, "warning: the runtime does not answer, and is asked again: %v\n", err)
	}
	o.ongoing = true
	return true
}
