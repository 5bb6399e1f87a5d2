package bounded

import (
	"fmt"
	"io"
)

// JSON returns a reader that fails when it has read more than limit values of JSON
// from r: an empty object is three bytes of text, and a kilobyte once it is decoded
// into a container.
func JSON(r io.Reader, limit int) io.Reader { return &jsonReader{r: r, limit: limit} }

// CheckJSON returns an error for a document of more than limit values. It does not
// say whether the document is valid.
func CheckJSON(document []byte, limit int) error {
	var c jsonCounter
	c.add(document)
	return c.check(limit)
}

type jsonReader struct {
	r       io.Reader
	limit   int
	counted jsonCounter
}

func (j *jsonReader) Read(p []byte) (int, error) {
	n, err := j.r.Read(p)
	j.counted.add(p[:n])
	if over := j.counted.check(j.limit); over != nil {
		return 0, over
	}
	return n, err
}

// jsonCounter counts the values of JSON text that are in others.
type jsonCounter struct {
	values            int
	inString, escaped bool
	// last is the last byte outside of strings that is not white space.
	last byte
}

func (c *jsonCounter) add(text []byte) {
	for _, b := range text {
		switch {
		case c.escaped:
			c.escaped = false
		case c.inString:
			c.inString, c.escaped = b != '"', b == '\\'
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
		default:
			first := (c.last == '[' || c.last == '{') && b != ']' && b != '}'
			if first || b == ',' {
				c.values++
			}
			c.inString = b == '"'
			c.last = b
		}
	}
}

func (c *jsonCounter) check(limit int) error {
	if c.values+1 > limit {
		return fmt.Errorf("more than %d values", limit)
	}
	return nil
}
