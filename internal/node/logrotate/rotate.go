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
	"strings"
	"time"
)

// Rotate rotates the log at path if it is too large. reopen makes the runtime
// reopen the path. A log that is not there is none.
func Rotate(ctx context.Context, path string, p Policy, now time.Time, reopen func(context.Context) error) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("rotate log: %w", err)
	case p.MaxSize < 0 || info.Size() < p.MaxSize:
		return nil
	}
	beside, err := filesBeside(path)
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	todo := plan(beside, p)
	for _, name := range todo.remove {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("rotate log: %w", err)
		}
	}
	for _, name := range todo.compress {
		if err := compress(ctx, name); err != nil {
			return fmt.Errorf("rotate log: %w", err)
		}
	}
	rotated := path + "." + now.Format(stamp)
	if err := os.Rename(path, rotated); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	if err := reopen(ctx); err != nil {
		return errors.Join(fmt.Errorf("rotate log %s: %w", path, err), os.Rename(rotated, path))
	}
	return nil
}

// Remove removes a log and what its rotations have left (Clean in
// pkg/kubelet/logs/container_log_manager.go). A log that is not there is none.
func Remove(path string) error {
	names, err := filesBeside(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove log: %w", err)
	}
	var errs []error
	for _, name := range append(names, path) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove log: %w", err))
		}
	}
	return errors.Join(errs...)
}

// filesBeside returns the files that rotations of a log have left.
func filesBeside(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".") {
			names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return names, nil
}

// compress replaces a file by its compressed form, which is whole as soon as it
// has its name.
func compress(ctx context.Context, path string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	tmp := path + tmpSuffix
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	zipper := gzip.NewWriter(out)
	_, err = io.Copy(zipper, in)
	if err = errors.Join(err, zipper.Close(), out.Close()); err == nil {
		err = os.Rename(tmp, path+zipSuffix)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Remove(path)
}
