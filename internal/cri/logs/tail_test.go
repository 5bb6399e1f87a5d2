package logs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// holes is a file of zeros that counts what is read of it.
type holes struct{ read int64 }

func (h *holes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	h.read += int64(len(p))
	return len(p), nil
}

// A file of holes takes a container nothing, and its reader hours.
func TestTailOfHolesIsBounded(t *testing.T) {
	h := &holes{}
	c := &tailCounter{want: 1, wanted: [streams]bool{true, true}}
	if err := backward(h, 4*maxPassed, c, func(Stream, bool, int64, int64) bool { return false }); !errors.Is(err, errPassed) || h.read > 2*maxPassed {
		t.Errorf("read %d bytes: %v", h.read, err)
	}
}

// A megabyte of a compressed file can be a terabyte.
func TestTailOfCompressedBombIsBounded(t *testing.T) {
	path := logFile(t, "stdout F newest")
	out, err := os.Create(path + ".1" + zipSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var zeros bytes.Buffer // a gzip file may have several members
	w := gzip.NewWriter(&zeros)
	_, _ = w.Write(make([]byte, 16<<20))
	_ = w.Close()
	_, _ = out.Write(bytes.Repeat(zeros.Bytes(), maxPassed/(16<<20)+2))
	write(t, filepath.Join(filepath.Dir(path), "0.log.2"), "stdout F older")
	var problems []error
	r, err := Open(path, Options{Tail: 3, Problem: func(err error) { problems = append(problems, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := read(t, r); !slices.Equal(got, []string{"newest"}) || !slices.ContainsFunc(problems, func(err error) bool { return errors.Is(err, errPassed) }) {
		t.Errorf("%q, %v", got, problems)
	}
}
