package volume

import (
	"context"
	"math"

	"golang.org/x/sys/unix"
)

// usage returns how many bytes of its file system a tree takes, without the
// mounts in it. A file counts once however many names it has: each name counts
// with its share, because containers can make more names than fit in memory.
// Files that come or go meanwhile may be counted or not (DiskUsage in
// pkg/volume/util/fs/fs.go). After an error the result is that of what was
// read.
func usage(ctx context.Context, dir string) (int64, error) {
	var used float64
	err := walk(ctx, dir, func(_ int, _ string, st *unix.Statx_t) error {
		bytes := float64(st.Blocks) * 512
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			bytes /= float64(st.Nlink)
		}
		used += bytes
		return nil
	})
	return int64(math.Round(used)), err
}
