package logs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// atEnd is called at the end of a file. more is false if nothing can be read now;
// rest is a last line without an end of a file that will not grow.
func (r *Reader) atEnd() (more bool, rest *chunk, err error) {
	if r.open == r.current {
		switch replaced, truncated := r.changed(); {
		case truncated:
			if _, err := r.open.Seek(0, io.SeekStart); err != nil {
				return false, nil, fileError(r.open.Name(), err)
			}
			r.scan, r.from = newScanner(r.open, 0), [streams]position{}
			return true, nil, nil
		case replaced && !r.left:
			// The runtime writes what it still has to the file after it made the successor,
			// and then closes it.
			if r.replaced.IsZero() {
				r.replaced = time.Now()
			}
			if _, written := r.writers(); written && r.opts.Follow && r.lingers() {
				return false, nil, nil
			}
			r.left = true
			return true, nil, nil
		case !r.left && r.opts.Follow:
			return false, nil, nil
		}
	}
	if c, ok := r.scan.unterminated(); ok {
		return true, &c, nil
	}
	last := r.open
	follows := last == r.current && r.opts.Follow
	if follows {
		if err := r.advance(last); err != nil {
			return false, nil, err
		}
		r.replaced, r.left = time.Time{}, false
	} else if last == r.current {
		r.ended = true
	}
	r.open, r.scan = nil, nil
	r.number++
	return !r.ended, nil, last.Close()
}

// changed reports whether the newest file has a successor, and whether it became
// shorter than what was read of it.
func (r *Reader) changed() (replaced, truncated bool) {
	mine, err := r.current.Stat()
	if err != nil {
		return false, false
	}
	there, err := os.Lstat(r.path)
	switch {
	case err == nil && !os.SameFile(mine, there):
		return true, false
	case errors.Is(err, fs.ErrNotExist):
		// Its successor may have been renamed, too.
		names, err := r.rotated()
		if err == nil && len(r.unread(names, r.current)) > 0 {
			return true, false
		}
	}
	return false, mine.Size() < r.scan.offset
}

// advance finds the files that follow last, which was the newest one and is read
// to its end; nil at the beginning.
func (r *Reader) advance(last *file) error {
	for {
		before, err := r.rotated()
		if err != nil {
			return fileError(r.path, err)
		}
		current, err := openPlain(r.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		after, listErr := r.rotated()
		if listErr != nil {
			return fileError(r.path, listErr)
		}
		if !slices.Equal(before, after) { // rotated in between
			if current != nil {
				_ = current.Close()
			}
			continue
		}
		r.queue = r.unread(after, last)
		r.known = after
		if current == nil && len(r.queue) > 0 {
			// Between its renaming and the runtime's next write the newest file has only
			// its new name.
			newest := r.queue[len(r.queue)-1]
			if current, err = openRotated(newest); err == nil {
				r.queue = r.queue[:len(r.queue)-1]
			}
		}
		r.current = current
		return nil
	}
}

func (r *Reader) rotated() ([]string, error) {
	if r.opts.OneFile {
		return nil, nil
	}
	return rotatedNames(r.path)
}

// unread returns those of the rotated files that follow last.
func (r *Reader) unread(names []string, last *file) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if slices.Contains(r.known, name) {
			return true
		}
		if last == nil {
			return false
		}
		f, err := openRotated(name)
		if err != nil {
			return false // reported when it is read
		}
		defer func() { _ = f.Close() }()
		return f.sameAs(last)
	})
}
