package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// Options of Copy.
type Options struct {
	// ToHost clears setuid and setgid: a container must not give programs to the host
	// that run as another user.
	ToHost bool
	// Name is what is copied as the user knows it; it begins the paths in errors.
	Name string
	// Progress is called as bytes are copied; nil is nothing.
	Progress func(Progress)
}

// Progress is how much was copied.
type Progress struct {
	Files int
	Bytes int64
	// Total is the size of a single file; 0 of a tree, which is not known beforehand.
	Total int64
}

// Result is what was copied.
type Result struct {
	Progress
	// Cleared are the files whose setuid or setgid was cleared.
	Cleared int
	// AbsoluteLinks is how many symlinks with an absolute target were copied; such a target may be
	// missing or another file at the destination. FirstAbsoluteLink is the first one, as
	// PATH -> TARGET.
	AbsoluteLinks     int
	FirstAbsoluteLink string
}

// maxErrors is how many entries that could not be copied an error names.
const maxErrors = 10

// skipped lists the entries that were not copied, while all others were.
type skipped struct {
	errs  []error // the first maxErrors
	count int
}

func (s *skipped) add(err error) {
	if s.count++; len(s.errs) < maxErrors {
		s.errs = append(s.errs, err)
	}
}

// err returns one error for all entries, a line each, nil if there are none.
func (s *skipped) err() error {
	errs := s.errs
	if more := s.count - len(errs); more > 0 {
		errs = append(slices.Clip(errs), fmt.Errorf("and %d more were not copied", more))
	}
	return errors.Join(errs...)
}

// Copy copies all entries and closes the sink. Entries that cannot be
// copied are passed over; the error names them.
func Copy(ctx context.Context, from Source, to Sink, o Options) (Result, error) {
	c := &copier{ctx: ctx, to: to, opts: o}
	err := from.Each(ctx, c.copyEntry, func(err error) { c.skipped.add(err) })
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = c.skipped.err()
	}
	return c.result, err
}

type copier struct {
	ctx     context.Context
	to      Sink
	opts    Options
	result  Result
	skipped skipped
}

func (c *copier) copyEntry(e Entry) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if e.Kind == Other {
		c.skipped.add(refused(path.Join(c.opts.Name, e.Path), e.What))
		return nil
	}
	const privileged = fs.ModeSetuid | fs.ModeSetgid
	if c.opts.ToHost && e.Kind == File && e.Mode&privileged != 0 {
		e.Mode &^= privileged
		c.result.Cleared++
	}
	if e.Kind == Symlink && path.IsAbs(e.Target) {
		if c.result.AbsoluteLinks++; c.result.AbsoluteLinks == 1 {
			c.result.FirstAbsoluteLink = path.Join(c.opts.Name, e.Path) + " -> " + e.Target
		}
	}
	var content io.Reader
	if e.Kind == File {
		if e.Path == "" {
			c.result.Total = e.Size
		}
		c.result.Files++
		r := &countingReader{c: c, e: e}
		defer func() { _ = r.Close() }() // only read
		// Before the sink begins: what cannot be opened is passed over.
		if e.LinkTo == "" && r.open() != nil {
			c.skipped.add(r.failed)
			return nil
		}
		content = r
	}
	return c.to.Put(c.ctx, e, content)
}

// report reports the progress.
func (c *copier) report(n int64) {
	c.result.Bytes += n
	if c.opts.Progress != nil {
		c.opts.Progress(c.result.Progress)
	}
}

// copyChunkSize is how much is copied between two looks at the context.
const copyChunkSize = 4 << 20

// maxPseudo bounds a file that claims to be empty, as those of proc do.
const maxPseudo = 16 << 20

// countingReader opens a file when it is first read, counts what is read, and reads no more
// than the size that was found: a file may grow for ever.
type countingReader struct {
	c    *copier
	e    Entry
	file io.ReadCloser
	left int64
	// failed is why the file cannot be opened.
	failed error
}

// open opens the file; its error is remembered as the source's.
func (r *countingReader) open() error {
	if r.file != nil || r.failed != nil {
		return r.failed
	}
	if r.left = r.e.Size; r.left == 0 {
		r.left = maxPseudo
	}
	r.file, r.failed = r.e.Open()
	return r.failed
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	if err := r.c.ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.open(); err != nil {
		return 0, err
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	r.c.report(int64(n))
	return n, err
}

// WriteTo implements io.WriterTo: where both ends are files, the kernel copies.
func (r *countingReader) WriteTo(w io.Writer) (total int64, err error) {
	if err := r.open(); err != nil {
		return 0, err
	}
	for {
		if err := r.c.ctx.Err(); err != nil {
			return total, err
		}
		want := min(copyChunkSize, r.left)
		n, err := io.Copy(w, &io.LimitedReader{R: r.file, N: want})
		total, r.left = total+n, r.left-n
		r.c.report(n)
		if err != nil || n < want || r.left <= 0 {
			return total, err
		}
	}
}

// Close closes the file if it was opened.
func (r *countingReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
