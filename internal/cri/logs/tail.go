package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// tailCounter finds where the last lines begin. Records are added in reverse
// order; a line is counted at its end. Pure.
type tailCounter struct {
	want, chosen int64
	wanted       [streams]bool
	// parts: each part of a line counts.
	parts bool
	// open: earlier parts of the stream's first chosen line may follow; seen: a
	// record of the stream was added.
	open, seen [streams]bool
	// quiet is how many bytes were passed without a record of an open stream.
	quiet [streams]int64
	// passed is how many bytes were read since the last record.
	passed int64
}

// maxPassed is how many bytes are read without a record before the search ends: who has the
// directory of a log can put a file of holes or a compressed one there, which are endless and
// take nothing.
const maxPassed = 1 << 30

var errPassed = fmt.Errorf("%d MiB without a line: what is before is not read", maxPassed>>20)

// pass counts bytes without a record.
func (c *tailCounter) pass(n int) error {
	if c.passed += int64(n); c.passed > maxPassed {
		return errPassed
	}
	return nil
}

// lookBack is how far behind its next part a part of a line is searched for.
const lookBack = 1 << 20

// add adds the record before all others, of a size in the file, and reports
// whether it belongs to the last lines.
func (c *tailCounter) add(s Stream, partial bool, size int64) bool {
	for other := range c.quiet {
		c.quiet[other] += size
	}
	if !c.wanted[s] {
		return false
	}
	ends := !partial || !c.seen[s] || c.parts
	c.seen[s], c.quiet[s] = true, 0
	if ends {
		c.open[s] = c.chosen < c.want
		if c.open[s] {
			c.chosen++
		}
	}
	return c.open[s]
}

// done reports whether no earlier record can belong to the last lines.
func (c *tailCounter) done() bool {
	if c.chosen < c.want {
		return false
	}
	for s := range c.open {
		if c.open[s] && c.quiet[s] <= lookBack {
			return false
		}
	}
	return true
}

// position is a place in the files of a log.
type position struct {
	file   int
	offset int64
}

func (p position) before(q position) bool {
	return p.file < q.file || p.file == q.file && p.offset < q.offset
}

// findTail returns where in the files, which are sorted oldest first, the last
// lines begin: for each stream, its part of them. The newest file may grow. open
// is called for the files that are needed, newest first. A file that cannot be
// read ends the search.
func findTail(files int, open func(i int) (*file, func() error, error), c *tailCounter) (from [streams]position, err error) {
	for i := files - 1; i >= 0; i-- {
		f, done, err := open(i)
		if err != nil {
			return from, err
		}
		size := f.size()
		if i == files-1 {
			for s := range from {
				from[s] = position{i, size}
			}
		}
		add := func(s Stream, partial bool, offset, size int64) bool {
			if c.add(s, partial, size) {
				from[s] = position{i, offset}
			}
			return c.done()
		}
		switch {
		case c.want == 0:
		case f.zipped:
			err = forward(f, c, add)
		default:
			err = backward(f, size, c, add)
		}
		_ = done() // it was only read
		if err != nil {
			err = fileError(f.Name(), err)
		}
		if err != nil || c.done() {
			return from, err
		}
	}
	if c.chosen < c.want {
		return [streams]position{}, nil
	}
	return from, nil
}

// headMax is how much of a record is enough to know its stream and tag.
const headMax = 256

// tailBlock is how much of a file is read at once from its end.
const tailBlock = 64 << 10

// backward adds the records of a plain file in reverse order until add returns
// true.
func backward(f io.ReaderAt, size int64, c *tailCounter, add func(s Stream, partial bool, offset, size int64) bool) error {
	buf := make([]byte, tailBlock+headMax)
	end := size      // of the record whose beginning is searched for
	var spill []byte // the beginning of what follows the block
	for start := size; start > 0; {
		block := buf[:min(start, tailBlock)]
		if err := c.pass(len(block)); err != nil {
			return err
		}
		start -= int64(len(block))
		copy(buf[len(block):], spill)
		if _, err := f.ReadAt(block, start); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		all := buf[:len(block)+len(spill)]
		one := func(at int) bool {
			offset := start + int64(at)
			head := all[at:min(len(all), at+headMax)]
			if line := bytes.IndexByte(head, '\n'); line >= 0 {
				head = head[:line]
			}
			length := end - offset
			end = offset
			if length == 0 {
				return false
			}
			s, partial, ok := headOf(head)
			if ok {
				c.passed = 0
			}
			return ok && add(s, partial, offset, length)
		}
		for from := len(block); from > 0; {
			at := bytes.LastIndexByte(block[:from], '\n')
			if at < 0 {
				break
			}
			if one(at + 1) {
				return nil
			}
			from = at
		}
		if start == 0 {
			one(0)
		}
		spill = append(spill[:0:0], all[:min(headMax, len(all))]...)
	}
	return nil
}

// headOf returns the stream and tag of a record from its beginning. In Docker's
// format, every record counts as a line.
func headOf(head []byte) (s Stream, partial, ok bool) {
	var r record
	if _, ok := r.parseHead(head); ok {
		return r.stream, r.partial, true
	}
	return Stdout, false, len(head) > 0 && head[0] == '{'
}

// forward adds the last lines of a compressed file in reverse order: up to n of
// each stream, and the beginning of one that ends in the next file. All of the file counts as
// passed until it is read: it is not known to end.
func forward(f *file, c *tailCounter, add func(s Stream, partial bool, offset, size int64) bool) error {
	in, err := newUnzip(io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return nil // the Reader comes to the same error, and reports it
	}
	var last [streams]ring
	var open [streams]*extent
	scan := newScanner(in, 0)
	records := false
	for more := true; more; {
		line, err := scan.next()
		if err != nil { // the Reader comes to the same error, and reports it
			if line, more = scan.unterminated(); !more {
				break
			}
		}
		if err := c.pass(len(line.text) + 1); err != nil {
			return err
		}
		s, partial, ok := headOf(line.text)
		records = records || ok
		if !line.begins || !ok || !c.wanted[s] {
			continue
		}
		if open[s] == nil {
			open[s] = &extent{begin: line.offset}
		}
		if open[s].end = line.offset; !partial {
			last[s].push(*open[s], c.want)
			open[s] = nil
		}
	}
	if records {
		c.passed = 0
	}
	for s, e := range open {
		if e != nil && add(Stream(s), true, e.begin, 0) {
			return nil
		}
	}
	for behind := scan.offset; ; {
		s := Stdout
		if a, b := last[Stdout].newest(), last[Stderr].newest(); a == nil && b == nil {
			return nil
		} else if a == nil || b != nil && b.end > a.end {
			s = Stderr
		}
		e := last[s].pop()
		if add(s, false, e.end, behind-e.end) || e.begin < e.end && add(s, true, e.begin, 0) {
			return nil
		}
		behind = e.end
	}
}

// extent is where the first and the last record of a line begin.
type extent struct{ begin, end int64 }

// ring holds the last lines of a stream.
type ring struct {
	lines []extent
	next  int // the place of the oldest, once it is full
}

// push adds a line; of more than n, the oldest is dropped.
func (r *ring) push(e extent, n int64) {
	if int64(len(r.lines)) < n {
		r.lines = append(r.lines, e)
		return
	}
	r.lines[r.next] = e
	r.next = (r.next + 1) % len(r.lines)
}

// newest returns the newest line, nil without one.
func (r *ring) newest() *extent {
	if len(r.lines) == 0 {
		return nil
	}
	return &r.lines[(r.next+len(r.lines)-1)%len(r.lines)]
}

// pop removes the newest line; no line is added afterwards.
func (r *ring) pop() extent {
	if r.next > 0 { // sorts the ring
		r.lines = slices.Concat(r.lines[r.next:], r.lines[:r.next])
		r.next = 0
	}
	e := r.lines[len(r.lines)-1]
	r.lines = r.lines[:len(r.lines)-1]
	return e
}
