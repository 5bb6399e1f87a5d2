package tape

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/sys/hint"
)

// isArchive reports whether what is read is a tar archive, as a report is.
func isArchive(r *bufio.Reader) bool {
	const at, magic = 257, "ustar"
	head, _ := r.Peek(at + len(magic)) // a shorter file is none
	return bytes.HasSuffix(head, []byte(magic)) && len(head) == at+len(magic)
}

// readReport reads the recording in a report of podctl report.
func readReport(name string, r io.Reader) (*Tape, error) {
	files := tar.NewReader(io.LimitReader(r, maxTotal))
	var found []string
	var data []byte
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read report %s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg || path.Base(h.Name) != report.RecordingName {
			continue
		}
		if h.Size > maxTotal { // it may have holes, which take no room in the archive
			return nil, fmt.Errorf("read report %s: %s is larger than %d MiB", name, h.Name, maxTotal>>20)
		}
		found = append(found, h.Name)
		if data, err = io.ReadAll(files); err != nil {
			return nil, fmt.Errorf("read report %s: %w", name, err)
		}
		if len(found) > 1 {
			return nil, hint.Errorf("unpack it, and name one of its files "+report.RecordingName, "read report %s: it has recordings of several nodes", name)
		}
	}
	if len(found) == 0 {
		return nil, hint.Errorf("podctl record FILE makes a recording", "read report %s: it has no recording", name)
	}
	name += ":" + found[0]
	text, err := unzip(name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return readTape(name, text) // which is no report: a file could hold itself
}
