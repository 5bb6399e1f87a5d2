package view

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/volume"
)

// Path is a path of a hostPath volume with which something is the matter.
type Path struct {
	Volume, Path string
	// Hangs: the file system does not answer.
	Hangs bool
	// Problem is what is the matter otherwise.
	Problem string
}

// pathTimeout is how long a file system may take to answer.
const pathTimeout = time.Second

// paths examines paths, each once, and never a second time while one hangs: that takes a
// thread until its file system answers.
type paths struct {
	mu    sync.Mutex
	asked map[string]*pathAnswer // by path, while there is no answer
}

// pathAnswer is what a file system answers about a path, once done is closed.
type pathAnswer struct {
	done chan struct{}
	mode fs.FileMode
	err  error
}

// maxPaths bounds the paths of one pod that are examined.
const maxPaths = 32

// check returns what is the matter with the hostPath volumes, as an owner with that root
// directory sees them.
func (p *paths) check(ctx context.Context, root string, volumes []Volume) []Path {
	ctx, cancel := context.WithTimeout(ctx, pathTimeout)
	defer cancel()
	var wrong []Path
	n := 0
	for _, v := range volumes {
		if v.Kind != "hostPath" || n == maxPaths {
			continue
		}
		n++
		mode, err := p.stat(ctx, filepath.Join(root, v.Source))
		kind := v1.HostPathType(v.Type)
		found := Path{Volume: v.Name, Path: v.Source}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			found.Hangs = true
		case errors.Is(err, context.Canceled):
			continue
		case errors.Is(err, fs.ErrNotExist):
			if found.Problem = "does not exist"; !volume.MustExist(kind) {
				continue
			}
		case err != nil:
			continue // podctl may not see it
		case volume.HasHostPathType(mode, kind):
			continue
		default:
			found.Problem = "is no " + v.Type
		}
		wrong = append(wrong, found)
	}
	return wrong
}

// stat returns the mode of a file, or the error of the context while it hangs.
func (p *paths) stat(ctx context.Context, path string) (fs.FileMode, error) {
	p.mu.Lock()
	a, asked := p.asked[path]
	if !asked {
		if p.asked == nil {
			p.asked = map[string]*pathAnswer{}
		}
		a = &pathAnswer{done: make(chan struct{})}
		p.asked[path] = a
		go func() {
			info, err := os.Stat(path)
			if a.err = err; err == nil {
				a.mode = info.Mode()
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.asked, path)
			close(a.done)
		}()
	}
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.mode, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
