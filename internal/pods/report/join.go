package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Joined are the reports of several nodes in one archive: a directory for each, and an index.
type Joined struct {
	// Dir is the directory in the archive that all files are in.
	Dir   string
	Time  time.Time
	Nodes []Node
}

// Node is the report of a node, or why there is none.
type Node struct {
	Name    string
	Archive []byte
	Err     string
}

// maxFiles bounds the files in the archive of a node.
const maxFiles = 10_000

// Write writes the archive. What a node sent is not trusted: it is bounded, and its files are
// in its directory. An archive that cannot be read is an error of its node.
func (j *Joined) Write(w io.Writer) error {
	files := make([][]File, len(j.Nodes))
	for i := range j.Nodes {
		n := &j.Nodes[i]
		if n.Err != "" {
			continue
		}
		var err error
		if files[i], err = unpack(n.Archive); err != nil {
			n.Err = err.Error()
		}
	}
	var index bytes.Buffer
	if err := page(nodesSource).Execute(&index, j); err != nil {
		return fmt.Errorf("write index of the report: %w", err)
	}
	a := newArchive(w, j.Dir, j.Time)
	if err := a.add(IndexName, index.Bytes()); err != nil {
		return err
	}
	for i, n := range j.Nodes {
		for _, f := range files[i] {
			if err := a.add(path.Join(SafeName(n.Name), f.Name), f.Data); err != nil {
				return err
			}
		}
	}
	return a.close()
}

// unpack returns the regular files of a report, without the directory that they are in.
func unpack(archive []byte) ([]File, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	const room = 2 << 20 // for headers and the index
	files := tar.NewReader(io.LimitReader(zipped, int64(2*DefaultLimits.Total+room)))
	var all []File
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("read archive: %w", err)
		}
		_, name, _ := strings.Cut(path.Clean(h.Name), "/")
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		if len(all) == maxFiles {
			return all, fmt.Errorf("read archive: more than %d files", maxFiles)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return all, fmt.Errorf("read archive: %w", err)
		}
		all = append(all, File{Name: name, Data: data})
	}
}
