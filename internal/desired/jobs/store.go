package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/flock"
)

// Store is a directory of Records, each in a directory of its own, which the process that has the Record
// has locked.
type Store struct {
	Dir, Instance string
}

// Open is a Record that this process has opened.
type Open struct {
	Record
	dir string
	// saved: this process has written the Record.
	saved  bool
	unlock func()
}

const (
	fileName = "job.json"
	// maxFile bounds a file, in bytes.
	maxFile = 64 << 20
	// lockTimeout is how long another process may take to leave a Record.
	lockTimeout = 100 * time.Millisecond
)

// Key returns the name of the directory of a Record, which no other has.
func Key(j *manifest.Job) string { return j.Kind + "_" + j.Namespace + "_" + j.Name }

// Open opens the Record of a Job or CronJob, an empty one if there is none. The error is that another
// process has it, or that it cannot be read: then nothing of the Job may run.
func (s Store) Open(j *manifest.Job) (*Open, error) {
	o, err := s.lock(j)
	if err != nil {
		return nil, err
	}
	content, err := bounded.ReadNoFollow(filepath.Join(o.dir, fileName), maxFile)
	if err == nil {
		o.Record, err = decode(content, o.Record)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.unlock()
		return nil, fmt.Errorf("read what is known of the %s: %w", j.Kind, err)
	}
	o.Instance = s.Instance
	return o, nil
}

// RemoveTooLarge removes the Record of a Job whose manifest is gone if it is too large to be read, and reports
// whether it was.
func (s Store) RemoveTooLarge(j *manifest.Job) (bool, error) {
	o, err := s.lock(j)
	if err != nil {
		return false, err
	}
	info, err := os.Lstat(filepath.Join(o.dir, fileName))
	if err != nil || info.Size() <= maxFile {
		o.unlock()
		return false, nil // what can be read is removed when its pods are gone
	}
	return true, o.Remove()
}

// lock locks the directory of a Record, which it makes if there is none.
func (s Store) lock(j *manifest.Job) (*Open, error) {
	o := &Open{Record: Record{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name}, dir: filepath.Join(s.Dir, Key(j))}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	for {
		err := os.MkdirAll(o.dir, 0o700)
		if err == nil {
			o.unlock, err = flock.LockDir(ctx, o.dir)
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("another podctl process runs the %s", j.Kind)
		case errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil: // another process has just removed it
			continue
		case err != nil:
			return nil, err
		}
		return o, nil
	}
}

// Save makes a Record the one that counts, and that the next process finds. After an error the one before does.
func (o *Open) Save(r Record) error {
	if o.saved && reflect.DeepEqual(o.Record, r) {
		return nil
	}
	content, err := encode(r)
	if err != nil {
		return err
	}
	if len(content) > maxFile {
		return fmt.Errorf("write what is known of the %s: it has %d bytes, of which no more than %d can be read", r.Kind, len(content), maxFile)
	}
	if err := errors.Join(atomicfile.Write(filepath.Join(o.dir, fileName), content, 0o600), atomicfile.SyncDir(o.dir)); err != nil {
		return fmt.Errorf("write what is known of the %s: %w", r.Kind, err)
	}
	o.Record, o.saved = r, true
	return nil
}

// Remove removes the Record: nothing of the Job runs.
func (o *Open) Remove() error {
	defer o.unlock()
	return os.RemoveAll(o.dir)
}

// Close leaves the Record to the next process.
func (o *Open) Close() { o.unlock() }

// Left returns the Jobs of Records of the instance that an earlier process left.
func (s Store) Left() (all []*manifest.Job) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "*", fileName)) // the pattern is good
	for _, file := range files {
		if r, err := readHead(file); err == nil && r.Instance == s.Instance {
			all = append(all, &manifest.Job{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
	return all
}
