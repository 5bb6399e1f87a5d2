package logs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// atEnd is called at the end of a file. more is false if nothing can be read now;
// rest is a last line without an end of a file that will not grow.
func (r *Reader) atEnd() (more bool, rest *chunk, err error) {
	if r.open == r.current {
		switch replaced, truncated := r.changed(); {
		case truncated:
			return true, nil, r.handleTruncation()
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
			_ = r.current.readHead() // tried again at the next end
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
		_ = r.current.readHead() // the head of before identifies it, too
		files, _, err := r.unread(append(slices.Clone(r.known), r.current.identity))
		closeAll(files...)
		if err == nil && len(files) > 0 {
			return true, false
		}
	}
	return false, mine.Size() < max(r.scan.offset, int64(len(r.current.head)))
}

// handleTruncation is called when the newest file was truncated (logrotate's copytruncate). A copy
// may have lines that were not read: it is read from the last position, then the file from its
// beginning.
func (r *Reader) handleTruncation() error {
	files, all, err := r.unread(r.known)
	if err != nil {
		return err
	}
	r.queue, r.known = files, all
	r.number++
	r.from = [streams]position{}
	head := r.current.head
	if i := slices.IndexFunc(r.queue, func(f *file) bool { return strings.HasPrefix(f.head, head) }); i >= 0 && head != "" {
		closeAll(r.queue[:i]...)
		r.queue = r.queue[i:]
		for s := range r.from {
			r.from[s] = position{r.number, r.scan.offset}
		}
	}
	r.current.head, r.open, r.scan = "", nil, nil
	return nil
}

// maxRotationRetries bounds how often the files are listed while they are being rotated.
const maxRotationRetries = 100

// advance finds the files that follow last, which was the newest one and is read
// to its end; nil at the beginning.
func (r *Reader) advance(last *file) error {
	known := slices.Clone(r.known)
	if last != nil {
		_ = last.readHead() // the head of before identifies it, too
		known = append(known, last.identity)
	}
	for n := 1; ; n++ {
		current, err := openFile(r.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		files, all, err := r.unread(known)
		if err != nil {
			closeAll(current)
			return err
		}
		if !r.isNewest(current) && n < maxRotationRetries { // rotated in between
			closeAll(append(files, current)...)
			continue
		}
		if newest := len(files) - 1; current == nil && newest >= 0 {
			// Between its renaming and the runtime's next write the newest file has only
			// its new name.
			current, files = files[newest], files[:newest]
		}
		r.queue, r.known, r.current = files, all, current
		return nil
	}
}

// isNewest reports whether a file is at the path of the log, or for nil that none is.
func (r *Reader) isNewest(f *file) bool {
	there, err := os.Lstat(r.path)
	if f == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(f.info, there)
}
