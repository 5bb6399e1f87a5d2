package shell

import (
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/cri"
)

// Outage is how a command that watches the runtime goes on while that is restarted.
type Outage struct {
	Env *Env
	// silent: the runtime did not answer the last time.
	silent bool
}

// MayPass reports whether the runtime did not answer a call, as while it is restarted, and
// warns of the first such error. Any other error, and nil, is the end of the outage.
func (o *Outage) MayPass(err error) bool {
	if !errors.Is(err, cri.ErrUnavailable) && !errors.Is(err, cri.ErrDeadline) {
		o.silent = false
		return false
	}
	if !o.silent {
		fmt.Fprintf(o.Env.Errw, "warning: the runtime does not answer, and is asked again: %v\n", err)
	}
	o.silent = true
	return true
}
