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
)

// maxRotated bounds the rotated files of a log that are opened: a container that mounts the
// directory can create millions.
const maxRotated = 100

const (
	zipSuffix = ".gz"
	tmpSuffix = ".tmp"
)

// isRotated reports whether name is that of a rotated file of the log base that is not compressed:
// 0.log.20260102-150405 of a kubelet, 0.log.1 or 0.log-20260102 of logrotate.
func isRotated(base, name string) bool {
	rest, ok := strings.CutPrefix(name, base)
	if !ok || len(rest) < 2 || strings.HasSuffix(rest, tmpSuffix) || strings.HasSuffix(rest, zipSuffix) {
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

// errTooMany is the error for more than maxRotated files.
var errTooMany = fmt.Errorf("more than %d rotated files are beside it: the others are not read", maxRotated)

// rotatedNames returns the paths of the rotated files; none if the directory does not exist. It
// returns some with errTooMany.
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
		some, err := d.Readdirnames(1000)
		for _, name := range some {
			if isRotated(base, name) {
				names = append(names, dir+name)
			}
		}
		switch {
		case len(names) > maxRotated:
			return names[:maxRotated], errTooMany
		case err != nil:
			return names, nil // the end
		}
	}
}

// unread opens the rotated files that are not known, oldest first, and returns the identities of
// all that can be read. Empty files are left out.
func (r *Reader) unread(known []identity) (files []*file, all []identity, err error) {
	if r.opts.OneFile {
		return nil, nil, nil
	}
	names, err := rotatedNames(r.path)
	if errors.Is(err, errTooMany) {
		r.problemOnce(r.path, fileError(r.path, err))
	} else if err != nil {
		return nil, nil, fileError(r.path, err)
	}
	for _, name := range names {
		f, err := openFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // renamed meanwhile
		case err != nil:
			r.problemOnce(name, err)
		case f.head == "" || slices.ContainsFunc(known, f.same):
			all = append(all, f.identity)
			closeAll(f)
		default:
			all = append(all, f.identity)
			files = append(files, f)
		}
	}
	sortRotated(files)
	return files, all, nil
}

// startTime returns the time of the first line, or the modification time if no line can be read.
func (i identity) startTime() time.Time {
	for line := range strings.Lines(i.head) {
		var r record
		if parseRecord(&r, []byte(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\x00"))) == nil {
			return r.time
		}
	}
	return i.info.ModTime()
}

// sortRotated sorts files, oldest first: by their numbers, or by the time of their first lines if a
// file is named by time, whose format and zone are not known.
func sortRotated(files []*file) {
	byTime := slices.ContainsFunc(files, func(f *file) bool { return rotationNumber(f.Name()) < 0 })
	slices.SortFunc(files, func(a, b *file) int {
		order := 0
		if byTime {
			order = a.startTime().Compare(b.startTime())
		}
		return cmp.Or(order, CompareRotated(a.Name(), b.Name()))
	})
}
