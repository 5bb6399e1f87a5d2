package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
// directory of a log can put a file of holes there, which is endless and takes nothing.
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
// lines begin: for each stream, its part of them. The newest file may grow. A file that
// cannot be read ends the search.
func findTail(files []*file, c *tailCounter) (from [streams]position, err error) {
	for i, f := range slices.Backward(files) {
		info, err := f.Stat()
		if err != nil {
			return from, fileError(f.Name(), err)
		}
		if i == len(files)-1 {
			for s := range from {
				from[s] = position{i, info.Size()}
			}
		}
		if c.want > 0 {
			err = backward(f, info.Size(), c, func(s Stream, partial bool, offset, size int64) bool {
				if c.add(s, partial, size) {
					from[s] = position{i, offset}
				}
				return c.done()
			})
		}
		if err != nil {
			return from, fileError(f.Name(), err)
		}
		if c.done() {
			return from, nil
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

// headOf returns the stream and tag of a record from its beginning.
func headOf(head []byte) (s Stream, partial, ok bool) {
	var r record
	_, ok = r.parseHead(head)
	return r.stream, r.partial, ok
}
