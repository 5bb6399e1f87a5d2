package filecopy

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Exec runs a command in a container and returns its exit code.
type Exec func(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error)

// Tar is a container whose files are reached by running tar in it. It does not keep
// what tar in the container does not: some have no owners or no times.
type Tar struct{ Exec Exec }

// maxStderr bounds what is kept of a command's standard error.
const maxStderr = 4 << 10

// maxPadding bounds what follows the end of an archive.
const maxPadding = 1 << 20

// run runs a command; another exit code than 0 is an error.
func (t *Tar) run(ctx context.Context, command []string, stdin io.Reader, stdout io.Writer) error {
	stderr := &limitedBuffer{}
	code, err := t.Exec(ctx, command, stdin, stdout, stderr)
	if err == nil && code != 0 {
		err = &ExitError{Command: command[0], Code: code, Stderr: strings.TrimSpace(stderr.buffer.String())}
	}
	return err
}

// ExitError: a command in the container failed.
type ExitError struct {
	Command string
	Code    int
	// Stderr is the beginning of what it wrote; the container may have written anything.
	Stderr string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s in the container exited with code %d: %s", e.Command, e.Code, e.Stderr)
}

// limitedBuffer keeps the first bytes that are written.
type limitedBuffer struct{ buffer bytes.Buffer }

func (h *limitedBuffer) Write(p []byte) (int, error) {
	_, _ = h.buffer.Write(p[:min(len(p), maxStderr-h.buffer.Len())]) // it does not fail
	return len(p), nil
}

// Close implements End.
func (*Tar) Close() error { return nil }

// Open implements End. Symlinks in the path are followed, at its end too.
func (t *Tar) Open(ctx context.Context, p Place) (Source, error) {
	at := fromRoot(p.Path)
	isDir, err := t.isDir(ctx, at)
	switch {
	case err != nil:
		return nil, err
	case isDir:
		return &tarSource{t: t, dir: at, name: ".", title: p.String()}, nil
	case p.Contents() || strings.HasSuffix(at, "/"):
		return nil, fmt.Errorf("%s: no such directory", p)
	}
	// -h follows a symlink at the end of the path; a file has none below it.
	return &tarSource{t: t, flags: []string{"-h"}, dir: dirOf(at), name: path.Base(at), title: p.String()}, nil
}

// fromRoot returns a path as podctl takes it: relative to the root directory, not to the
// working directory of the container.
func fromRoot(name string) string { return "/" + strings.TrimLeft(name, "/") }

// isDir reports whether a path of the container is a directory, or a symlink to one.
func (t *Tar) isDir(ctx context.Context, at string) (bool, error) {
	err := t.run(ctx, []string{"test", "-d", at}, nil, io.Discard)
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Create implements End.
func (t *Tar) Create(ctx context.Context, to, from Place) (Sink, Place, error) {
	at := fromRoot(to.Path)
	dir, name, made := dirOf(at), to.Base(), to
	switch isDir, err := t.isDir(ctx, at); {
	case err != nil:
		return nil, to, err
	case isDir:
		dir, name, made = at, from.Base(), into(to, from)
	case name == "" || strings.HasSuffix(at, "/"):
		return nil, to, fmt.Errorf("%s: no such directory", to)
	}
	s := &tarSink{name: name, done: make(chan error, 1)}
	r, w := io.Pipe()
	s.pipe, s.out = w, tar.NewWriter(w)
	go func() {
		err := t.run(ctx, []string{"tar", "xf", "-", "-C", dir}, r, io.Discard)
		_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // what is written from now on is lost
		s.done <- err
	}()
	return s, made, nil
}

// tarSource is what tar in the container writes.
type tarSource struct {
	t     *Tar
	flags []string
	// name is archived in dir: "." or a file.
	dir, name, title string
}

// Each implements Source. Names are the container's: those that lead elsewhere are
// passed to failed.
func (s *tarSource) Each(ctx context.Context, do func(Entry) error, failed func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.t.run(ctx, slices.Concat([]string{"tar", "cf", "-"}, s.flags, []string{"-C", s.dir, "--", s.name}), nil, w)
		_ = w.CloseWithError(err) // nil is the end
		done <- err
	}()
	err := s.read(tar.NewReader(r), do, failed)
	if err == nil { // tar fills up its last block
		_, _ = io.Copy(io.Discard, io.LimitReader(r, maxPadding)) // its end is in done
	}
	_ = r.CloseWithError(io.ErrClosedPipe) // tar may write on
	if err != nil {
		cancel()
		<-done //nolint:errcheck // that it was cut off
		return err
	}
	return <-done
}

func (s *tarSource) read(in *tar.Reader, do func(Entry) error, failed func(error)) error {
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", s.title, err)
		}
		at, ok := s.inside(h.Name)
		if !ok {
			failed(refused(path.Join(s.title, h.Name), "a name outside of what is copied"))
			continue
		}
		e := Entry{
			Path: at, Mode: fs.FileMode(h.Mode&0o777) | h.FileInfo().Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky),
			UID: h.Uid, GID: h.Gid, ModTime: h.ModTime, Size: h.Size, Target: h.Linkname,
			Open: func() (io.ReadCloser, error) { return io.NopCloser(in), nil },
		}
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeDir:
			e.Kind = Dir
		case tar.TypeSymlink:
			e.Kind = Symlink
		case tar.TypeLink:
			if e.LinkTo, ok = s.inside(h.Linkname); !ok {
				e.Kind, e.What = Other, "a hard link to a file outside of what is copied"
			}
			e.Open = func() (io.ReadCloser, error) {
				return nil, fmt.Errorf("%s: the hard link cannot be made", path.Join(s.title, at))
			}
		default:
			e.Kind, e.What = Other, "a special file"
		}
		if err := do(e); err != nil {
			return err
		}
	}
}

// inside returns a name relative to what is copied.
func (s *tarSource) inside(name string) (string, bool) {
	name = path.Clean(name)
	switch {
	case s.name == "." && name == ".":
		return "", true
	case s.name == ".":
		return name, filepath.IsLocal(name)
	}
	rest, ok := strings.CutPrefix(name, s.name)
	if rest == "" {
		return "", ok
	}
	rest, slash := strings.CutPrefix(rest, "/")
	return rest, ok && slash && filepath.IsLocal(rest)
}

// tarSink is what tar in the container reads.
type tarSink struct {
	name string
	out  *tar.Writer
	pipe *io.PipeWriter
	done chan error
	// failed: the stream is cut, tar must not take it for whole.
	failed error
}

// Put implements Sink.
func (s *tarSink) Put(_ context.Context, e Entry, content io.Reader) error {
	err := s.writeEntry(e, content)
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return err
}

func (s *tarSink) writeEntry(e Entry, content io.Reader) error {
	h := &tar.Header{
		Name: path.Join(s.name, e.Path), Mode: int64(e.Mode.Perm()), Uid: e.UID, Gid: e.GID, ModTime: e.ModTime, Format: tar.FormatPAX,
	}
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if e.Mode&flag != 0 {
			h.Mode |= bit
		}
	}
	switch {
	case h.Name == "":
		return nil // the directory that is there
	case e.Kind == Dir:
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
	case e.Kind == Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	case e.LinkTo != "":
		h.Typeflag, h.Linkname = tar.TypeLink, path.Join(s.name, e.LinkTo)
	default:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	}
	if err := s.out.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg || e.Size == 0 {
		return err
	}
	n, err := io.Copy(s.out, content)
	if err == nil && n < e.Size {
		err = fmt.Errorf("%s: %w", e.Path, errChanged)
	}
	return err
}

// Close implements Sink: it waits for tar.
func (s *tarSink) Close() error {
	err := s.failed
	if err == nil {
		err = s.out.Close()
	}
	_ = s.pipe.CloseWithError(err) // nil is the end
	if exit := <-s.done; exit != nil && s.failed == nil {
		return exit // why the pipe broke
	}
	return err
}
