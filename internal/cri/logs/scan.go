package logs

import (
	"bytes"
	"io"
)

// scanBuffer is how much of a file is read at once, and how much of one line of
// it is held: a longer line is passed on in chunks.
const scanBuffer = 64 << 10

// scanner splits a file that may still grow into its lines, in bounded memory.
type scanner struct {
	r   io.Reader
	buf []byte
	// begin and end delimit what was read and not yet returned; searched is how
	// much of it holds no line end.
	begin, end, searched int
	// offset is the position in the file of begin.
	offset int64
	// inside: the chunk before did not end its line.
	inside bool
}

func newScanner(r io.Reader, offset int64) *scanner {
	return &scanner{r: r, buf: make([]byte, scanBuffer), offset: offset}
}

// chunk is a line of a file without its end, or a part of a very long one.
type chunk struct {
	text         []byte
	offset       int64 // of the text in the file
	begins, ends bool
}

// next returns the next chunk; io.EOF if the file holds no further line now. It
// may be called again when the file has grown. The text is valid until then.
func (s *scanner) next() (chunk, error) {
	for {
		if n := bytes.IndexByte(s.buf[s.begin+s.searched:s.end], '\n'); n >= 0 {
			return s.advance(s.searched+n, 1), nil
		}
		s.searched = s.end - s.begin
		if s.searched == len(s.buf) {
			return s.advance(s.searched, 0), nil
		}
		if s.begin > 0 && s.end == len(s.buf) {
			copy(s.buf, s.buf[s.begin:s.end])
			s.end, s.begin = s.end-s.begin, 0
		}
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if n == 0 && err != nil {
			return chunk{}, err
		}
	}
}

// unterminated returns the text after the last line end, if there is any: no more will
// be read.
func (s *scanner) unterminated() (chunk, bool) {
	if s.begin == s.end {
		return chunk{}, false
	}
	c := s.advance(s.end-s.begin, 0)
	c.ends = true
	return c, true
}

// advance returns the next n bytes, and passes over the line end behind them.
func (s *scanner) advance(n, lineEnd int) chunk {
	c := chunk{text: s.buf[s.begin : s.begin+n], offset: s.offset, begins: !s.inside, ends: lineEnd > 0}
	s.inside = lineEnd == 0
	s.begin += n + lineEnd
	s.offset += int64(n + lineEnd)
	s.searched = 0
	if s.begin == s.end {
		s.begin, s.end = 0, 0
	}
	return c
}
