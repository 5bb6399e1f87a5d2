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
			r.updateOpened()
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
		files, err := r.rotatedFiles()
		if err == nil && len(r.unreadFiles(files, r.current)) > 0 {
			return true, false
		}
	}
	return false, !r.current.zipped && mine.Size() < max(r.scan.offset, int64(len(r.opened.head)))
}

// updateOpened reads the head of the newest file again, once the file was read to its end.
func (r *Reader) updateOpened() {
	if len(r.opened.head) < headSize && r.scan.offset > int64(len(r.opened.head)) {
		r.opened, _ = identify(r.path, r.current)
	}
}

// handleTruncation is called when the newest file was truncated (logrotate's copytruncate). A copy
// may have lines that were not read: it is read from the last position, then the file from its
// beginning.
func (r *Reader) handleTruncation() error {
	files, err := r.rotatedFiles()
	if err != nil {
		return fileError(r.path, err)
	}
	r.queue = r.unreadFiles(files, nil)
	r.known = files
	r.number++
	r.from = [streams]position{}
	copied := func(f rotatedFile) bool { return f.head != "" && strings.HasPrefix(f.head, r.opened.head) }
	if i := slices.IndexFunc(r.queue, copied); i >= 0 && r.opened.head != "" {
		r.queue = r.queue[i:]
		for s := range r.from {
			r.from[s] = position{r.number, r.scan.offset}
		}
	}
	r.opened, r.open, r.scan = rotatedFile{}, nil, nil
	return nil
}

// maxRotationRetries bounds how often the files are listed while they are being rotated.
const maxRotationRetries = 100

// advance finds the files that follow last, which was the newest one and is read
// to its end; nil at the beginning.
func (r *Reader) advance(last *file) error {
	for n := 1; ; n++ {
		before, err := r.rotatedFiles()
		if err != nil {
			return fileError(r.path, err)
		}
		current, err := openPlain(r.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		after, listErr := r.rotatedFiles()
		if listErr != nil {
			return fileError(r.path, listErr)
		}
		if !slices.EqualFunc(before, after, rotatedFile.same) && n < maxRotationRetries { // rotated in between
			if current != nil {
				_ = current.Close()
			}
			continue
		}
		r.queue = r.unreadFiles(after, last)
		r.known = after
		if current == nil && len(r.queue) > 0 {
			// Between its renaming and the runtime's next write the newest file has only
			// its new name.
			newest := r.queue[len(r.queue)-1]
			if current, err = r.openQueued(newest); err == nil {
				r.queue = r.queue[:len(r.queue)-1]
			}
		}
		if r.current, r.opened = current, (rotatedFile{}); current != nil {
			r.opened, _ = identify(r.path, current)
		}
		return nil
	}
}
