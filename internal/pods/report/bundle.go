package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/podctl/podctl/internal/pod/secret"
)

// Bundle is a report.
type Bundle struct {
	// Dir is the directory in the archive that all files are in.
	Dir string
	// Host, Kernel and Version say where it was made, and by which podctl.
	Host, Kernel, Version string
	Time                  time.Time
	Took                  time.Duration
	Summary               Summary
	Results               []Result
	Masked                []secret.Masked
}

// Summary is what a person reads first.
type Summary struct {
	Findings []Finding
	// Pods are those that do not run as they should, Stuck those that do not start or end.
	Pods, Stuck []PodLine
	// Healthy is how many pods are not among them; -1 if the pods are not known.
	Healthy int
}

// Finding is one of `podctl doctor` that is not ok.
type Finding struct{ Level, Name, Evidence, Remedy string }

// PodLine is a pod, and what is wrong with it.
type PodLine struct{ Pod, State, Why, Next string }

// Seal bounds and masks what was collected.
func (b *Bundle) Seal(m *secret.Masker, l Limits) {
	bound(b.Results, l)
	for i := range b.Results {
		r := &b.Results[i]
		r.Err = m.Text(r.Err)
		for n := range r.Files {
			if f := &r.Files[n]; !f.Sealed {
				f.Data = []byte(m.Text(string(f.Data)))
			}
		}
	}
	mask := func(texts ...*string) {
		for _, t := range texts {
			*t = m.Text(*t)
		}
	}
	for i := range b.Summary.Findings {
		f := &b.Summary.Findings[i]
		mask(&f.Evidence, &f.Remedy)
	}
	for _, lines := range [][]PodLine{b.Summary.Pods, b.Summary.Stuck} {
		for i := range lines {
			mask(&lines[i].Why, &lines[i].Next)
		}
	}
	b.Masked = m.Masked()
}

// Write writes the report as a gzipped tar archive: index.html first, then the files of each
// part. The same report is written as the same bytes.
func (b *Bundle) Write(w io.Writer) error {
	var index bytes.Buffer
	if err := b.index(&index); err != nil {
		return fmt.Errorf("write index of the report: %w", err)
	}
	a := newArchive(w, b.Dir, b.Time)
	if err := a.add(IndexName, index.Bytes()); err != nil {
		return err
	}
	for _, r := range b.Results {
		for _, f := range r.Files {
			if err := a.add(path.Join(r.Name, f.Name), f.Data); err != nil {
				return err
			}
		}
	}
	return a.close()
}

// archive is a gzipped tar archive of one directory.
type archive struct {
	dir    string
	time   time.Time
	zipped *gzip.Writer
	files  *tar.Writer
}

func newArchive(w io.Writer, dir string, at time.Time) *archive {
	zipped := gzip.NewWriter(w)
	return &archive{dir, at.Truncate(time.Second), zipped, tar.NewWriter(zipped)}
}

func (a *archive) add(name string, data []byte) error {
	header := &tar.Header{Name: path.Join(a.dir, name), Mode: 0o600, Size: int64(len(data)), ModTime: a.time, Format: tar.FormatPAX}
	if err := a.files.WriteHeader(header); err != nil {
		return err
	}
	_, err := a.files.Write(data)
	return err
}

func (a *archive) close() error { return errors.Join(a.files.Close(), a.zipped.Close()) }

// DirName returns the name of a report's directory in its archive.
func DirName(of string, at time.Time) string {
	return "podctl-report-" + SafeName(of) + "-" + at.UTC().Format("20060102T150405Z")
}

// SafeName returns a name that can be that of a file.
func SafeName(name string) string {
	safe := []byte(name)
	for i, c := range safe {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && (c != '.' || i == 0) {
			safe[i] = '_'
		}
	}
	return string(safe)
}
