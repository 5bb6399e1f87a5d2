package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// encode returns the content of the file. A Job without a Document there has that of the Job before it.
func encode(r Record) ([]byte, error) {
	r.Jobs = slices.Clone(r.Jobs)
	for i := len(r.Jobs) - 1; i > 0; i-- {
		if bytes.Equal(r.Jobs[i].Document, r.Jobs[i-1].Document) {
			r.Jobs[i].Document = nil
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // so that a Document stays equal to that of its manifest
	err := e.Encode(r)
	return b.Bytes(), err
}

// decode returns the Record of a file; r has what the file has not.
func decode(content []byte, r Record) (Record, error) {
	if err := json.Unmarshal(content, &r); err != nil {
		return r, err
	}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; i > 0 && len(j.Document) == 0 {
			j.Document = r.Jobs[i-1].Document
		}
	}
	return r, nil
}

// maxHead is more than the fields of a Record take that readHead reads, in bytes.
const maxHead = 64 << 10

// readHead returns what a file has before its times and Jobs: it may be too large to be read in full.
func readHead(file string) (r Record, err error) {
	f, err := bounded.OpenNoFollow(file)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }() // it is only read
	d := json.NewDecoder(io.LimitReader(f, maxHead))
	if _, err := d.Token(); err != nil { // {
		return r, err
	}
	for _, field := range []struct {
		name string
		into *string
	}{{"Kind", &r.Kind}, {"Namespace", &r.Namespace}, {"Name", &r.Name}, {"Instance", &r.Instance}} {
		name, err := d.Token()
		if err == nil {
			err = d.Decode(field.into)
		}
		if err != nil || name != field.name {
			return r, errors.Join(fmt.Errorf("%s does not begin with a %s", file, field.name), err)
		}
	}
	return r, nil
}
