package volume

import (
	"context"
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxMeasures is how often a tree is read at most, if containers move
// directories in it meanwhile.
const maxMeasures = 4

var errOverLimit = errors.New("more than the limit")

// usage returns how many bytes of its file system a tree takes, without the
// mounts in it and what is nested too deep. It stops as soon as they are more
// than the limit, so that no container can put that off by making more files. A
// file counts once however many names it has: each name counts with its share,
// because containers can make more names than fit in memory. Files that come or
// go meanwhile may be counted or not (DiskUsage in
// pkg/volume/util/fs/fs.go). After an error the result is that of what was
// read.
func usage(ctx context.Context, dir string, limit int64) (int64, error) {
	return measure(limit, func(visit visitFunc) error {
		return (&walker{visit: visit, maxLevels: maxLevels, skipDeep: true}).walk(ctx, dir)
	})
}

// filesUsage is usage of the files in the directory itself.
func filesUsage(ctx context.Context, dir string, limit int64) (int64, error) {
	return measure(limit, func(visit visitFunc) error {
		files := func(dir int, name string, st *unix.Statx_t) error {
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				return nil
			}
			return visit(dir, name, st)
		}
		return (&walker{visit: files, maxLevels: 1, skipDeep: true}).walk(ctx, dir)
	})
}

// diskSize returns how many bytes of its file system a file takes.
func diskSize(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// measure is usage by the given way to walk.
func measure(limit int64, walk func(visitFunc) error) (int64, error) {
	for i := 1; ; i++ {
		var used float64
		err := walk(func(_ int, _ string, st *unix.Statx_t) error {
			bytes := float64(st.Blocks) * 512
			if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
				bytes /= float64(st.Nlink)
			}
			used += bytes
			if math.Round(used) > float64(limit) {
				return errOverLimit
			}
			return nil
		})
		if errors.Is(err, errOverLimit) {
			err = nil
		}
		if !errors.Is(err, errMoved) || i == maxMeasures {
			return int64(math.Round(used)), err
		}
	}
}
