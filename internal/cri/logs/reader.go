package logs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"
)

// Reader reads the log of one attempt of a container: its rotated files, oldest
// first, then the file at its path and, while it is followed, its successors.
type Reader struct {
	path  string
	opts  Options
	lines joiner

	// queue are the rotated files before the newest one that are not read yet. They are open,
	// so that they are read also when they are renamed or removed meanwhile.
	queue []*file
	// known are the rotated files that were read or are queued, and reported what is beside
	// the log and cannot be read.
	known    []identity
	reported map[string]bool
	// current is the newest file; nil if there is none yet.
	current *file
	// open is the file that is read, nil between two; scan reads it. number is its
	// place among the files of the reader, from 0.
	open   *file
	scan   *scanner
	number int
	// from is where the last lines of each stream begin, for a tail.
	from [streams]position
	// replaced is when current was first seen not to be at the path any more, the zero
	// time if it is; left: it will not grow.
	replaced time.Time
	left     bool
	// head is the record of the line of the file that is read; skipping: that line,
	// or its stream's line, is not selected.
	head     record
	skipping bool
	omitting [streams]bool
	// ended: everything was read, and the log is not followed.
	ended bool
	// odd counts the lines that are no log lines.
	odd int
}

// Open returns a reader of the log at path, and opens what exists of it: what is
// removed afterwards is still read. Without Follow, a log that does not exist is
// an fs.ErrNotExist.
func Open(path string, o Options) (*Reader, error) {
	r := &Reader{path: path, opts: o}
	if err := r.openFiles(); err != nil {
		return nil, err
	}
	return r, nil
}

// openFiles finds the files, and where in them the reading begins.
func (r *Reader) openFiles() error {
	if err := r.advance(nil); err != nil {
		return err
	}
	if r.current == nil {
		if !r.opts.Follow {
			return fileError(r.path, fs.ErrNotExist)
		}
		return nil
	}
	r.skipOld()
	if r.opts.Tail < 0 {
		return nil
	}
	counter := &tailCounter{want: r.opts.Tail, wanted: [streams]bool{!r.opts.Omit[Stdout], !r.opts.Omit[Stderr]}, parts: r.opts.Parts}
	from, err := findTail(append(slices.Clone(r.queue), r.current), counter)
	if err != nil {
		r.problem(err)
	}
	r.from = from
	first := from[Stdout].file
	switch {
	case r.opts.Omit[Stdout]:
		first = from[Stderr].file
	case !r.opts.Omit[Stderr]:
		first = min(first, from[Stderr].file)
	}
	closeAll(r.queue[:first]...)
	r.queue = r.queue[first:]
	r.number = first
	return nil
}

// skipOld leaves out rotated files whose last line is before Since.
func (r *Reader) skipOld() {
	if r.opts.Since.IsZero() {
		return
	}
	r.queue = slices.DeleteFunc(r.queue, func(f *file) bool {
		old := f.info.ModTime().Before(r.opts.Since)
		if old {
			closeAll(f)
		}
		return old
	})
}

// Next returns the next line. ok is false if there is none now: Done reports
// whether there will be one later. After an error it can be called again.
func (r *Reader) Next() (l Line, ok bool, err error) {
	var rec record
	for {
		if ok, err := r.record(&rec); err != nil || !ok {
			return Line{}, false, err
		}
		if r.opts.Parts {
			return Line{Time: rec.time, Stream: rec.stream, Text: rec.text, Begins: true, Ends: !rec.partial}, true, nil
		}
		if l, ok := r.lines.add(&rec); ok && r.selects(&l) {
			return l, true, nil
		}
	}
}

// Flush returns a piece of a line whose end is not written yet, if there is one.
func (r *Reader) Flush() (Line, bool) {
	for {
		l, ok := r.lines.flush()
		if !ok || r.selects(&l) {
			return l, ok
		}
	}
}

// Done reports whether everything was read and the log is not followed.
func (r *Reader) Done() bool { return r.ended }

// finish ends the following: Next returns what the files hold now, and is done.
func (r *Reader) finish() { r.opts.Follow = false }

// writers returns whether it is known that no process has the newest file open
// for writing, and whether it is known that one has.
func (r *Reader) writers() (complete, written bool) {
	if r.current == nil {
		return false, false
	}
	writers, known := hasWriters(r.current.File)
	return known && !writers, known && writers
}

// lingers reports whether the newest file may be read on although it has a successor.
func (r *Reader) lingers() bool {
	return !r.replaced.IsZero() && !r.left && time.Since(r.replaced) < flushTimeout
}

// Odd returns how many lines of the files were no log lines.
func (r *Reader) Odd() int { return r.odd }

// selects reports whether a line, or a piece of one, is not before Since.
func (r *Reader) selects(l *Line) bool {
	if l.Begins {
		r.omitting[l.Stream] = l.Time.Before(r.opts.Since)
	}
	return !r.omitting[l.Stream]
}

// record reads the next record of the files; ok is false if there is none now.
func (r *Reader) record(rec *record) (ok bool, err error) {
	for {
		if r.open == nil {
			if more, err := r.openNext(); err != nil || !more {
				return false, err
			}
		}
		c, err := r.scan.next()
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			r.problem(fileError(r.open.Name(), err))
			r.scan.r = eof{}
			fallthrough
		default:
			more, rest, err := r.atEnd()
			if err != nil || !more {
				return false, err
			}
			if rest == nil {
				continue
			}
			c = *rest
		}
		if r.parse(rec, &c) {
			return true, nil
		}
	}
}

// parse reads the record of a chunk, or its continuation, and reports whether it is
// selected: it is not, if it is no log line.
func (r *Reader) parse(rec *record, c *chunk) bool {
	if !c.begins {
		if r.skipping {
			return false
		}
		*rec = r.head
		rec.text = c.text
		rec.partial = rec.partial || !c.ends
		return true
	}
	for len(c.text) > 0 && c.text[0] == 0 { // left by a crash of the machine
		c.text = c.text[1:]
	}
	if err := parseRecord(rec, c.text); err != nil {
		r.skipping = true
		if len(c.text) > 0 {
			r.odd++
		}
		return false
	}
	at := position{r.number, c.offset}
	r.skipping = r.opts.Omit[rec.stream] || at.before(r.from[rec.stream])
	if !c.ends {
		r.head = *rec
		rec.partial = true
	}
	return !r.skipping
}

// openNext opens the next file of the queue, or the newest one.
func (r *Reader) openNext() (bool, error) {
	if r.ended {
		return false, nil
	}
	if len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.read(next)
		return true, nil
	}
	if r.current == nil {
		if err := r.advance(nil); err != nil || r.current == nil {
			r.ended = !r.opts.Follow
			return false, err
		}
		return r.openNext()
	}
	r.read(r.current)
	return true, nil
}

// read begins to read a file, at the last lines if it is the first one.
func (r *Reader) read(f *file) {
	r.open = f
	offset := r.firstOffset()
	var in io.Reader = f
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		r.problem(fileError(f.Name(), err))
		in = eof{}
	}
	r.scan = newScanner(in, offset)
}

// firstOffset returns where the reading of the file that is next begins.
func (r *Reader) firstOffset() int64 {
	first := position{r.number, math.MaxInt64}
	for s, from := range r.from {
		if !r.opts.Omit[s] && from.before(first) {
			first = from
		}
	}
	if first.file < r.number || first.offset == math.MaxInt64 {
		return 0
	}
	return first.offset
}

// eof is a file of which nothing can be read.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

func (r *Reader) problem(err error) {
	if r.opts.Problem != nil {
		r.opts.Problem(err)
	}
}

// problemOnce reports a problem of a file that is tried again.
func (r *Reader) problemOnce(path string, err error) {
	if r.reported == nil {
		r.reported = map[string]bool{}
	}
	if len(r.reported) <= maxRotated && !r.reported[path] {
		r.reported[path] = true
		r.problem(err)
	}
}

// Close closes the files.
func (r *Reader) Close() {
	r.ended = true
	closeAll(append(r.queue, r.open, r.current)...)
	r.queue, r.open, r.current = nil, nil, nil
}
