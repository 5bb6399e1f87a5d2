package source

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watcher reports whether something in or about a path may have changed. Where
// nothing can be watched it says nothing, and the ticker has to do.
type watcher struct {
	path    string
	parent  string
	changes chan struct{} // has room for one
	fs      *fsnotify.Watcher
	done    chan struct{}
	// watched is the directory that the path led to, and its identity.
	watched  string
	identity Identity

	mu sync.Mutex
	// touched are the files that something happened to since taken was called; "" among
	// them stands for any.
	touched map[string]bool
}

// watch starts to watch a directory or file, whether or not it exists yet.
func watch(path string) *watcher {
	w := &watcher{path: path, changes: make(chan struct{}, 1), done: make(chan struct{}), touched: map[string]bool{}}
	fs, err := fsnotify.NewWatcher()
	if err != nil { // no inotify instances are left
		close(w.done)
		return w
	}
	w.fs = fs
	// The parent reports when the path itself is renamed, made or turned.
	w.parent = filepath.Dir(filepath.Clean(path))
	_ = fs.Add(w.parent) // it may not exist
	go w.run()
	return w
}

func (w *watcher) run() {
	defer close(w.done)
	for {
		select {
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if filepath.Dir(ev.Name) == w.parent && filepath.Clean(ev.Name) != filepath.Clean(w.path) {
				continue // something else in the parent
			}
			w.touch(filepath.Base(ev.Name))
		case _, ok := <-w.fs.Errors: // an overflow: anything may have happened
			if !ok {
				return
			}
			w.touch("")
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

func (w *watcher) touch(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched[name] = true
}

// taken returns the names of the files that something happened to since the last
// call, with "" where there may be others.
func (w *watcher) taken() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	touched := w.touched
	w.touched = map[string]bool{}
	return touched
}

// rewatch watches what the path leads to now.
func (w *watcher) rewatch() {
	if w.fs == nil {
		return
	}
	info, err := os.Stat(w.path)
	if err != nil || !info.IsDir() {
		return // the parent reports a file, and what comes back
	}
	id := identityOf(info)
	if id == w.identity && slices.Contains(w.fs.WatchList(), w.watched) {
		return // a directory that was removed is watched no more
	}
	real, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		return
	}
	if w.watched != "" {
		_ = w.fs.Remove(w.watched) // it may be gone already
	}
	if w.fs.Add(real) == nil {
		w.watched, w.identity = real, id
	}
}

func (w *watcher) close() {
	if w.fs != nil {
		_ = w.fs.Close() // it is not read any more
	}
	<-w.done
}
