package owner

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Living are the names of the instances that live, in order of name: none if dir
// is not there.
func Living(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "instance-*.lock"))
	if err != nil {
		return nil, err
	}
	var living []string
	for _, path := range files {
		name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "instance-"), ".lock"))
		if err != nil {
			continue // none of ours
		}
		alive, err := Alive(dir, name)
		switch {
		case err != nil:
			return nil, err
		case alive:
			living = append(living, name)
		}
	}
	return living, nil
}

// Beat dates the instance's lock file, so that a podctl that finds it after the
// instance was killed knows until when it lived.
func (l *Locks) Beat(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return os.Chtimes(l.self.Name(), now, now)
}

// LastBeat is about when an instance died that was killed: its last Beat. It is
// zero for one that lives, has ended by itself, or whose lock file another podctl
// has removed since.
func LastBeat(dir, instance string) (time.Time, error) {
	path := instancePath(dir, instance)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if _, held, err := holderOf(path); held || err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
