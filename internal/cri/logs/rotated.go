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

// maxRotated is how many rotated files of a log are read: a container that has the
// directory can make millions.
const maxRotated = 1000

// rotated is a file that a rotation left beside the log. Its name is no identity:
// logrotate gives each file another one at each rotation.
type rotated struct {
	// name is its path without .gz.
	name   string
	zipped bool
	info   fs.FileInfo
	// head is the beginning of what was logged, "" if it cannot be read.
	head string
}

// IsRotated reports whether a file beside the log named base is named as rotations name
// what they leave: 0.log.20260102-150405 by a kubelet, 0.log.1 and 0.log-20260102 by
// logrotate, each perhaps with .gz.
func IsRotated(base, name string) bool {
	rest, ok := strings.CutPrefix(name, base)
	if !ok || len(rest) < 2 || strings.HasSuffix(rest, tmpSuffix) {
		return false
	}
	return rest[0] == '.' || rest[0] == '-' && '0' <= rest[1] && rest[1] <= '9'
}

// CompareRotated compares the names of two rotated files of a log by what their
// names say about their age; the older one is less. logrotate counts backwards.
func CompareRotated(a, b string) int {
	a, b = strings.TrimSuffix(a, zipSuffix), strings.TrimSuffix(b, zipSuffix)
	m, n := numberOf(a), numberOf(b)
	return cmp.Or(cmp.Compare(n, m), strings.Compare(a, b))
}

// maxNumber bounds logrotate's numbers; more digits are a time.
const maxNumber = 99_999

// numberOf returns logrotate's number of a rotated file, -1 for one that is named by time.
func numberOf(name string) int {
	suffix := filepath.Ext(name)
	if n, err := strconv.ParseUint(strings.TrimPrefix(suffix, "."), 10, 32); err == nil && n <= maxNumber {
		return int(n)
	}
	return -1
}

// rotatedFiles returns the files that rotations left beside the log at path, oldest
// first. A directory that does not exist has none.
func rotatedFiles(path string) ([]rotated, error) {
	names, err := rotatedNames(path)
	var files []rotated
	for _, name := range names {
		if f, ok := inspect(name); ok {
			files = append(files, f)
		}
	}
	sortRotated(files)
	return files, err
}

// errTooMany is the error for more rotated files than are read.
var errTooMany = fmt.Errorf("more than %d rotated files are beside it: the others are not read", maxRotated)

// rotatedNames returns the names of the rotated files, each without .gz. It returns some
// with errTooMany.
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

// inspect reads the beginning of a rotated file; ok is false if it has gone, or
// nothing was logged to it.
func inspect(name string) (f rotated, ok bool) {
	open, err := openRotated(name)
	if err != nil {
		info, err := os.Lstat(name)
		if err != nil {
			info, err = os.Lstat(name + zipSuffix)
		}
		return rotated{name: name, info: info}, err == nil
	}
	defer func() { _ = open.Close() }() // it was only read
	f, err = identify(name, open)
	return f, f.info != nil && (err != nil || f.head != "")
}

// identify returns what is known of an open file, and why it may not be all.
func identify(name string, f *file) (rotated, error) {
	info, err := f.Stat()
	if err != nil {
		return rotated{}, err
	}
	head, err := f.head()
	return rotated{name: name, zipped: f.zipped, info: info, head: head}, err
}

// same reports whether both are the same log: the same file, or one the other
// compressed. A log begins with a time in nanoseconds; a file that is new may have the
// inode of one that was removed, and has another beginning.
func (f rotated) same(other rotated) bool {
	sameFile := f.zipped == other.zipped && os.SameFile(f.info, other.info)
	if f.head == "" || other.head == "" {
		return f.head == other.head && sameFile
	}
	begins := strings.HasPrefix(f.head, other.head) || strings.HasPrefix(other.head, f.head)
	return begins && (sameFile || f.zipped != other.zipped)
}

// isIn reports whether the file is one of others.
func (f rotated) isIn(others []rotated) bool { return slices.ContainsFunc(others, f.same) }

// began returns the time of the first line, else the time of the last write.
func (f rotated) began() time.Time {
	for line := range strings.Lines(f.head) {
		var r record
		if parseRecord(&r, []byte(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\x00"))) == nil {
			return r.time
		}
	}
	return f.info.ModTime()
}

// sortRotated sorts files, oldest first. Numbers say their order; names made of times do
// not where the time was that of a zone or had another format: the first lines do.
func sortRotated(files []rotated) {
	byTime := slices.ContainsFunc(files, func(f rotated) bool { return numberOf(f.name) < 0 })
	began := make(map[string]time.Time, len(files))
	for _, f := range files {
		began[f.name] = f.began()
	}
	slices.SortFunc(files, func(a, b rotated) int {
		order := 0
		if byTime {
			order = began[a.name].Compare(began[b.name])
		}
		return cmp.Or(order, CompareRotated(a.name, b.name))
	})
}

// rotated returns the rotated files of the log that are to be read.
func (r *Reader) rotated() ([]rotated, error) {
	if r.opts.OneFile {
		return nil, nil
	}
	files, err := rotatedFiles(r.path)
	if errors.Is(err, errTooMany) {
		if !r.tooMany {
			r.tooMany = true
			r.problem(fileError(r.path, err))
		}
		err = nil
	}
	return files, err
}

// unread returns those of the rotated files that are not read, nor the file at last.
func (r *Reader) unread(files []rotated, last *file) []rotated {
	known := slices.Clone(r.known)
	if last != nil {
		if f, _ := identify(r.path, last); f.info != nil {
			known = append(known, f)
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(f rotated) bool { return f.isIn(known) })
}

// openQueued opens a rotated file by the name that it has now.
func (r *Reader) openQueued(of rotated) (*file, error) {
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
	files, listErr := r.rotated()
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

// openRotated opens a rotated file by its name without .gz. It may be compressed
// at any time, and has both names while it is.
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
