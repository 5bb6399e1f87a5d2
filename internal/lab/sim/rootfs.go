package sim

import (
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// fileLimit is how large a file of a container is at most, in bytes, and how much of one of
// the host it reads; filesLimit is how many files can be written.
const (
	fileLimit  = 1 << 20
	filesLimit = 4096
)

// layer is files that were written, by path; nil are those that were removed. The zero
// value is one without files.
type layer struct {
	mu    sync.Mutex
	files map[string]*string
}

func (l *layer) get(name string) (text *string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, known = l.files[name]
	return text, known
}

func (l *layer) set(name string, text *string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.files[name]; !known && len(l.files) == filesLimit || text != nil && len(*text) > fileLimit {
		return syscall.ENOSPC
	}
	if l.files == nil {
		l.files = map[string]*string{}
	}
	l.files[name] = text
	return nil
}

// rootfs is the files of a container. Those of mounts are read from the host, and what is
// written there is kept in memory for the containers of the pod; but the file of the
// termination message is written.
type rootfs struct {
	own, volumes *layer
	mounts       []*runtimeapi.Mount
	security     *runtimeapi.LinuxContainerSecurityContext
	message      string                           // where the kubelet reads the termination message, as the container sees it
	given        func(name string) (string, bool) // the files of the image and of the kernel
}

// place is where a file is.
type place struct {
	*layer
	key      string
	host     bool // key is a path of the host
	file     bool // the mount is of this file
	readonly bool
}

func (r *rootfs) find(name string) place {
	var in *runtimeapi.Mount
	for _, m := range r.mounts {
		if isBelow(name, m.ContainerPath) && (in == nil || isBelow(path.Clean(m.ContainerPath), in.ContainerPath)) {
			in = m // of two mounts at one path, the later
		}
	}
	switch {
	case in == nil:
		ro := r.security.GetReadonlyRootfs() || slices.ContainsFunc(r.security.GetReadonlyPaths(), func(p string) bool { return isBelow(name, p) })
		return place{layer: r.own, key: name, readonly: ro}
	case in.Image != nil:
		return place{layer: &layer{}, key: path.Join("/", in.ImageSubPath, strings.TrimPrefix(name, path.Clean(in.ContainerPath))), readonly: true}
	}
	return place{layer: r.volumes, key: filepath.Join(in.HostPath, strings.TrimPrefix(name, path.Clean(in.ContainerPath))), host: true, file: name == path.Clean(in.ContainerPath), readonly: in.Readonly}
}

func isBelow(name, dir string) bool {
	dir = path.Clean(dir)
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// read returns what is in a file.
func (r *rootfs) read(name string) (string, error) {
	at := r.find(name)
	if text, known := at.get(at.key); known {
		if text == nil {
			return "", syscall.ENOENT
		}
		return *text, nil
	}
	if at.host {
		return readHost(at.key)
	}
	if text, ok := r.given(at.key); ok {
		return text, nil
	}
	if r.isDir(name) {
		return "", syscall.EISDIR
	}
	return "", syscall.ENOENT
}

func readHost(name string) (string, error) {
	if info, err := os.Stat(name); err != nil {
		return "", syscall.ENOENT
	} else if info.IsDir() {
		return "", syscall.EISDIR
	} else if !info.Mode().IsRegular() {
		return "", syscall.EACCES
	}
	f, err := os.Open(name)
	if err != nil {
		return "", syscall.EACCES
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, fileLimit))
	return string(data), err
}

// write replaces a file, or adds to it.
func (r *rootfs) write(name, text string, add bool) error {
	at := r.find(name)
	if at.readonly {
		return syscall.EROFS
	}
	if old, err := r.read(name); add && err == nil {
		text = old + text
	}
	if name == r.message && at.host && at.file { // a file in a volume is not the kubelet's
		return os.WriteFile(at.key, []byte(text), 0o600)
	}
	return at.set(at.key, &text)
}

// remove removes a file.
func (r *rootfs) remove(name string) error {
	at := r.find(name)
	if at.readonly {
		return syscall.EROFS
	}
	if _, err := r.read(name); err != nil {
		return err
	}
	return at.set(at.key, nil)
}

// list returns the names in a directory, sorted.
func (r *rootfs) list(dir string) []string {
	at, names := r.find(dir), map[string]bool{}
	if at.host {
		entries, err := os.ReadDir(at.key)
		if err == nil {
			for _, e := range entries {
				names[e.Name()] = true
			}
		}
	} else {
		for name := range strings.FieldsSeq(imageFiles) {
			addName(names, at.key, name)
		}
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	for name, text := range at.files {
		if text != nil {
			addName(names, at.key, name)
		} else if path.Dir(name) == at.key {
			delete(names, path.Base(name))
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// addName adds the name that a file has in a directory, or that of the directory there which
// the file is in.
func addName(names map[string]bool, dir, file string) {
	if rest := strings.TrimPrefix(file, strings.TrimSuffix(dir, "/")+"/"); rest != file && rest != "" {
		first, _, _ := strings.Cut(rest, "/")
		names[first] = true
	}
}

func (r *rootfs) isDir(name string) bool {
	at := r.find(name)
	if at.host {
		if info, err := os.Stat(at.key); err == nil {
			return info.IsDir()
		}
	}
	if strings.Contains(" "+imageFiles+" ", " "+at.key+"/ ") || at.key == "/" {
		return true
	}
	return slices.ContainsFunc(r.mounts, func(m *runtimeapi.Mount) bool { return m.Image != nil && path.Clean(m.ContainerPath) == name }) || len(r.list(name)) > 0
}
