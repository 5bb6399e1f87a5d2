package logrotate

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// Rotator rotates logs. It is used by one goroutine.
type Rotator struct {
	policy Policy
	// notReopened has the paths of logs whose reopen failed: the runtime may still write to the
	// renamed file.
	notReopened map[string]bool
}

// New returns a Rotator.
func New(p Policy) *Rotator { return &Rotator{policy: p, notReopened: map[string]bool{}} }

// IsIdle reports whether Rotate has nothing to do about a log: there is a regular file that is
// not too large, in directories that are no links. It opens nothing, for most logs are idle
// at most times.
func (r *Rotator) IsIdle(path string) bool {
	dir := filepath.Dir(path)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if info, err := os.Lstat(d); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && r.fits(info) && !r.notReopened[path]
}

// Rotate rotates the log at path if it is too large. reopen makes the runtime reopen the
// path: also where there is no log, for the runtime then writes to a file without a name,
// or with that of a rotation that was cut short.
func (r *Rotator) Rotate(ctx context.Context, path string, now time.Time, reopen func(context.Context) error) error {
	l, err := open(path)
	var info fs.FileInfo
	if err == nil {
		defer l.close()
		info, err = l.Lstat(l.base)
	}
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil && !missing {
		return fmt.Errorf("rotate log: %w", err)
	}
	if missing || r.notReopened[path] {
		r.notReopened[path] = true
		if err := reopen(ctx); err != nil {
			return fmt.Errorf("reopen log %s: %w", path, err)
		}
		if l == nil {
			if l, err = open(path); err != nil {
				return fmt.Errorf("reopen log: %w", err)
			}
			defer l.close()
		}
		if info, err = l.Lstat(l.base); err != nil {
			return fmt.Errorf("reopen log: %w", err)
		}
		delete(r.notReopened, path)
	}
	if r.fits(info) {
		return nil
	}
	// What cannot be removed or compressed must not let the log grow for ever.
	return errors.Join(r.removeAndCompress(ctx, l), r.rename(ctx, l, now, reopen))
}

// fits reports whether a file is not too large for a log.
func (r *Rotator) fits(info fs.FileInfo) bool {
	return r.policy.MaxSize < 0 || info.Size() < r.policy.MaxSize
}

// checkRegular returns an error for what is no log: whoever has the directory can put a
// link to another file there, or a FIFO, which the runtime would open.
func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %w: the log is reopened once it is removed", path, bounded.ErrNotRegular)
}

// rename renames the log and lets the runtime reopen it. If that fails, the log gets its
// name back, unless the runtime has made a new file.
func (r *Rotator) rename(ctx context.Context, l *log, now time.Time, reopen func(context.Context) error) error {
	rotated := l.base + "." + now.Format(stamp)
	if err := l.Rename(l.base, rotated); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	err := reopen(ctx)
	if err == nil {
		return nil
	}
	r.notReopened[l.path] = true
	err = fmt.Errorf("reopen log %s: %w", l.path, err)
	switch linkErr := l.Link(rotated, l.base); { // a rename would replace a new file
	case errors.Is(linkErr, fs.ErrExist):
		return err
	case linkErr != nil:
		return errors.Join(err, linkErr)
	}
	return errors.Join(err, l.Remove(rotated))
}

// removeAndCompress removes and compresses the rotated files of a log, by the policy.
func (r *Rotator) removeAndCompress(ctx context.Context, l *log) error {
	names, err := l.filesBeside(fs.FileMode.IsRegular)
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	var errs []error
	failed := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("rotate log: %w", err))
		}
	}
	todo := plan(names, r.policy)
	for _, name := range todo.remove {
		failed(l.Remove(name))
	}
	for _, name := range todo.compress {
		failed(l.compress(ctx, name, max(minCompressLimit, 2*r.policy.MaxSize)))
	}
	return errors.Join(errs...)
}

// ForgetExcept forgets the state of logs that are not in paths.
func (r *Rotator) ForgetExcept(paths map[string]bool) {
	for path := range r.notReopened {
		if !paths[path] {
			delete(r.notReopened, path)
		}
	}
}

// Remove removes a log and what its rotations have left (Clean in
// pkg/kubelet/logs/container_log_manager.go). A log that is not there is none.
func Remove(path string) error {
	l, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove log: %w", err)
	}
	defer l.close()
	names, err := l.filesBeside(func(m fs.FileMode) bool { return !m.IsDir() })
	if err != nil {
		return fmt.Errorf("remove log: %w", err)
	}
	var errs []error
	for _, name := range append(names, l.base) {
		if err := l.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove log: %w", err))
		}
	}
	return errors.Join(errs...)
}

// minCompressLimit is the smallest limit of the size of a file to compress, in bytes. A larger file
// is not the result of a rotation; it may be sparse, and take long to compress.
const minCompressLimit = 1 << 30

// compress replaces a file of at most limit bytes by its compressed form, which is whole
// as soon as it has its name.
func (l *log) compress(ctx context.Context, name string, limit int64) (err error) {
	in, err := bounded.OpenNoFollowIn(l.Root, name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() > limit {
		return &bounded.TooLargeError{Path: in.Name(), Max: limit}
	}
	tmp := name + tmpSuffix
	out, err := l.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err != nil {
		return err
	}
	zipper := gzip.NewWriter(out)
	n, err := io.Copy(zipper, io.LimitReader(contextReader{ctx, in}, limit+1))
	if n > limit { // it grew
		err = &bounded.TooLargeError{Path: in.Name(), Max: limit}
	}
	err = errors.Join(err, zipper.Close(), out.Chmod(info.Mode().Perm()), out.Close())
	if err == nil {
		err = l.Rename(tmp, name+zipSuffix)
	}
	if err != nil {
		return errors.Join(err, l.Remove(tmp))
	}
	return l.Remove(name)
}

// contextReader is a Reader that fails once ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (u contextReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

const (
	zipSuffix = ".gz"
	tmpSuffix = ".tmp"
	// stamp is the time in a rotated file's name (pkg/kubelet/logs).
	stamp = "20060102-150405"
)

// Policy is when and how logs are rotated.
type Policy struct {
	// MaxSize in bytes is what a log may have; negative turns rotation off.
	MaxSize int64
	// MaxFiles is how many files a container may have, at least 2.
	MaxFiles int
}

// rotationPlan has the rotated files to remove and to compress before the log is renamed.
type rotationPlan struct{ remove, compress []string }

// plan says what to do with the files beside a log: those that are named like
// it, with more behind a dot. Pure.
func plan(beside []string, p Policy) rotationPlan {
	beside = slices.SortedFunc(slices.Values(beside), logs.CompareRotated)
	var s rotationPlan
	var kept []string
	for _, name := range beside {
		switch {
		case strings.HasSuffix(name, tmpSuffix), slices.Contains(beside, name+zipSuffix):
			s.remove = append(s.remove, name) // left over, or compressed already
		default:
			kept = append(kept, name)
		}
	}
	// The log itself and what it is renamed to are files, too.
	excess := max(0, len(kept)-max(0, p.MaxFiles-2))
	s.remove = append(s.remove, kept[:excess]...)
	for _, name := range kept[excess:] {
		if !strings.HasSuffix(name, zipSuffix) {
			s.compress = append(s.compress, name)
		}
	}
	return s
}
