//go:build !linux

package volume

import (
	"context"
	"errors"
	"os"
)

// giveTo gives everything in dir to the group; a nil group changes nothing.
// Pods only run on linux.
func giveTo(_ context.Context, _ string, group *int64, _ access) error {
	if group == nil {
		return nil
	}
	return errors.ErrUnsupported
}

func groupOf(os.FileInfo) (gid int64, known bool) { return 0, false }
