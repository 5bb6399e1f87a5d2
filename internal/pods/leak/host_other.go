//go:build !linux

package leak

import (
	"context"
	"errors"

	"github.com/moby/sys/mountinfo"

	"github.com/podctl/podctl/internal/cri"
)

// DefaultHost returns the host on which podctl runs.
func DefaultHost() Host {
	return Host{Mounts: func() ([]*mountinfo.Info, error) { return nil, errors.ErrUnsupported }}
}

func (Host) whyBlind(cri.Endpoint) (pid int, why string) { return 0, "it takes Linux" }

// remove needs Linux.
func (*Remover) remove(context.Context, Thing) error { return errors.ErrUnsupported }
