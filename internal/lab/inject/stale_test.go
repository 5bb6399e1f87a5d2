package inject

import (
	"strconv"
	"testing"
	"time"
)

// at is a time after so many seconds.
func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

func TestStaleAnswerIsOfBoundedAge(t *testing.T) {
	var s staleAnswers
	s.put("list", []byte("old"), at(10))
	s.put("list", []byte("new"), at(20))
	if answer, ok := s.get("list", at(19)); !ok || string(answer) != "new" {
		t.Errorf("%s, %v", answer, ok)
	}
	if _, ok := s.get("list", at(20)); ok {
		t.Error("one that is too old is given again")
	}
	if _, ok := s.get("other", at(0)); ok {
		t.Error("one that was never given")
	}
}

// The oldest answers go, by number and by bytes, and one that is too large is not kept.
func TestStaleAnswersAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ answers, size, kept int }{
		"number": {maxStale + 10, 1, maxStale},
		"bytes":  {10, maxStaleBytes/4 - 1, 4},
		"one":    {3, maxStaleBytes, 0},
	} {
		var s staleAnswers
		answer := make([]byte, c.size)
		for n := range c.answers {
			s.put(strconv.Itoa(n), answer, at(n))
			s.put(strconv.Itoa(n), answer, at(n)) // which replaces it
		}
		if len(s.kept) != c.kept || s.bytes > maxStaleBytes {
			t.Errorf("%s: %d are kept, of %d bytes", name, len(s.kept), s.bytes)
		}
		bytes := 0
		for n := range c.answers {
			_, ok := s.get(strconv.Itoa(n), at(-1))
			if ok != (n >= c.answers-c.kept) {
				t.Errorf("%s: answer %d of %d is kept: %v", name, n, c.answers, ok)
			}
			if ok {
				bytes += len(strconv.Itoa(n)) + c.size
			}
		}
		if s.bytes != bytes {
			t.Errorf("%s: counted %d bytes of %d", name, s.bytes, bytes)
		}
	}
}
