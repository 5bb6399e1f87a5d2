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

// Living are the instances that live, in order of name: none if dir does not exist.
func Living(dir string) ([]Holder, error) {
	files, err := filepath.Glob(filepath.Join(dir, instancePrefix+"*"+suffix))
	if err != nil {
		return nil, err
	}
	var living []Holder
	for _, path := range files {
		name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), instancePrefix), suffix))
		if err != nil {
			continue // none of ours
		}
		holder, alive, err := holderOf(path)
		switch {
		case err != nil:
			return nil, err
		case alive:
			holder.Name = name // which it may be about to write
			living = append(living, holder)
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
