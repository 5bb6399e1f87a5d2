package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxRotated bounds the rotated files of a log that are read: a container that mounts the
// directory can create millions.
const maxRotated = 1000

// rotatedFile is a rotated log file. Its name does not identify it: logrotate renames each file at
// each rotation.
type rotatedFile struct {
	// name is the path without .gz.
	name   string
	zipped bool
	info   fs.FileInfo
	// head is the beginning of the uncompressed content, "" if it cannot be read.
	head string
}

// IsRotated reports whether name is that of a rotated file of the log base: 0.log.20260102-150405
// of a kubelet, 0.log.1 or 0.log-20260102 of logrotate, each with or without .gz.
func IsRotated(base, name string) bool {
	rest, ok := strings.CutPrefix(name, base)
	if !ok || len(rest) < 2 || strings.HasSuffix(rest, tmpSuffix) {
		return false
	}
	return rest[0] == '.' || rest[0] == '-' && '0' <= rest[1] && rest[1] <= '9'
}

// CompareRotated compares the names of two rotated files of a log; the older one is less. With
// logrotate the higher number is the older one.
func CompareRotated(a, b string) int {
	a, b = strings.TrimSuffix(a, zipSuffix), strings.TrimSuffix(b, zipSuffix)
	m, n := rotationNumber(a), rotationNumber(b)
	return cmp.Or(cmp.Compare(n, m), strings.Compare(a, b))
}

// maxRotationNumber is the largest number of logrotate; a larger one is a time.
const maxRotationNumber = 99_999

// rotationNumber returns the number that logrotate gave a file, -1 if it is named by time.
func rotationNumber(name string) int {
	suffix := filepath.Ext(name)
	if n, err := strconv.ParseUint(strings.TrimPrefix(suffix, "."), 10, 32); err == nil && n <= maxRotationNumber {
		return int(n)
	}
	return -1
}

// listRotated returns the rotated files of the log at path, oldest first; none if the directory
// does not exist. It returns some with errTooMany.
func listRotated(path string) ([]rotatedFile, error) {
	names, err := rotatedNames(path)
	var files []rotatedFile
	for _, name := range names {
		if f, ok := readRotatedFile(name); ok {
			files = append(files, f)
		}
	}
	sortRotated(files)
	return files, err
}

// errTooMany is the error for more than maxRotated files.
var errTooMany = fmt.Errorf("more than %d rotated files are beside it: the others are not read", maxRotated)

// rotatedNames returns the paths of the rotated files, without .gz. It returns some with errTooMany.
func rotatedNames(path string) ([]string, error) {
	dir, base := filepath.Split(path)
	d, err := os.Open(filepath.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // it is only read
	var names []string
	for {
		some, err := d.Readdirnames(maxRotated)
		for _, name := range some {
			if IsRotated(base, name) {
				names = append(names, dir+strings.TrimSuffix(name, zipSuffix))
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		switch {
		case len(names) > maxRotated:
			return names[:maxRotated], errTooMany
		case err != nil:
			return names, nil // the end
		}
	}
}

// readRotatedFile reads the beginning of a rotated file; ok is false if the file is gone or empty.
func readRotatedFile(name string) (f rotatedFile, ok bool) {
	open, err := openRotated(name)
	if err != nil {
		info, err := os.Lstat(name)
		if err != nil {
			info, err = os.Lstat(name + zipSuffix)
		}
		return rotatedFile{name: name, info: info}, err == nil
	}
	defer func() { _ = open.Close() }() // it was only read
	f, err = identify(name, open)
	return f, f.info != nil && (err != nil || f.head != "")
}

// identify returns the identity of an open file; with an error, of what could be read.
func identify(name string, f *file) (rotatedFile, error) {
	info, err := f.Stat()
	if err != nil {
		return rotatedFile{}, err
	}
	head, err := f.head()
	return rotatedFile{name: name, zipped: f.zipped, info: info, head: head}, err
}

// same reports whether both have the same content: they are the same file, or one is the other
// compressed. Logs begin with a time in nanoseconds, so that a new file with the inode of a removed
// one has another head.
func (f rotatedFile) same(other rotatedFile) bool {
	sameFile := f.zipped == other.zipped && os.SameFile(f.info, other.info)
	if f.head == "" || other.head == "" {
		return f.head == other.head && sameFile
	}
	begins := strings.HasPrefix(f.head, other.head) || strings.HasPrefix(other.head, f.head)
	return begins && (sameFile || f.zipped != other.zipped)
}

// isAnyOf reports whether the file is the same as one of others.
func (f rotatedFile) isAnyOf(others []rotatedFile) bool { return slices.ContainsFunc(others, f.same) }

// startTime returns the time of the first line, or the modification time if no line can be read.
func (f rotatedFile) startTime() time.Time {
	for line := range strings.Lines(f.head) {
		var r record
		if parseRecord(&r, []byte(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\x00"))) == nil {
			return r.time
		}
	}
	return f.info.ModTime()
}

// sortRotated sorts files, oldest first: by their numbers, or by the time of their first lines if a
// file is named by time, whose format and zone are not known.
func sortRotated(files []rotatedFile) {
	byTime := slices.ContainsFunc(files, func(f rotatedFile) bool { return rotationNumber(f.name) < 0 })
	starts := make(map[string]time.Time, len(files))
	for _, f := range files {
		starts[f.name] = f.startTime()
	}
	slices.SortFunc(files, func(a, b rotatedFile) int {
		order := 0
		if byTime {
			order = starts[a.name].Compare(starts[b.name])
		}
		return cmp.Or(order, CompareRotated(a.name, b.name))
	})
}

// rotatedFiles returns the rotated files of the log, none with OneFile.
func (r *Reader) rotatedFiles() ([]rotatedFile, error) {
	if r.opts.OneFile {
		return nil, nil
	}
	files, err := listRotated(r.path)
	if errors.Is(err, errTooMany) {
		if !r.tooMany {
			r.tooMany = true
			r.problem(fileError(r.path, err))
		}
		err = nil
	}
	return files, err
}

// unreadFiles returns the files that are neither known nor the file last.
func (r *Reader) unreadFiles(files []rotatedFile, last *file) []rotatedFile {
	known := slices.Clone(r.known)
	if last != nil {
		if f, _ := identify(r.path, last); f.info != nil {
			known = append(known, f)
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(f rotatedFile) bool { return f.isAnyOf(known) })
}

// openQueued opens a rotated file, also if it was renamed since it was listed.
func (r *Reader) openQueued(of rotatedFile) (*file, error) {
	open := func(name string) (*file, error) {
		f, err := openRotated(name)
		if err != nil {
			return nil, err
		}
		if is, _ := identify(name, f); is.info != nil && is.same(of) {
			return f, nil
		}
		_ = f.Close() // another file has the name
		return nil, fileError(name, fs.ErrNotExist)
	}
	f, err := open(of.name)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	files, listErr := r.rotatedFiles()
	if listErr != nil {
		return nil, err
	}
	for _, now := range files {
		if now.same(of) {
			return open(now.name)
		}
	}
	return nil, err
}

// openPlain opens a log file that is not compressed.
func openPlain(path string) (*file, error) {
	f, err := bounded.OpenNoFollow(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return &file{File: f}, nil
}

// openRotated opens a rotated file by its name without .gz. A rotation may compress it at any time;
// meanwhile both names exist.
func openRotated(name string) (*file, error) {
	f, err := openPlain(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	zipped, err := bounded.OpenNoFollow(name + zipSuffix)
	if err != nil {
		return nil, fileError(name+zipSuffix, err)
	}
	return &file{File: zipped, zipped: true}, nil
}
