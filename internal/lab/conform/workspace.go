package conform

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/hint"
)

// workspace is a directory and the mark of the pods of a runtime. One process at a time holds it.
type workspace struct {
	dir string
	// mark is the value of the label of its pods.
	mark   string
	unlock func()
}

func (p *workspace) logs() string { return filepath.Join(p.dir, "logs") }

func (p *workspace) close() {
	_ = os.RemoveAll(p.logs()) // of the next one
	p.unlock()
}

// openWorkspace locks the workspace of a runtime, and removes the pods that an earlier process
// left: those with the label and the mark.
func openWorkspace(ctx, changes context.Context, o Options) (*workspace, error) {
	endpoint := o.Client.Endpoint().Runtime
	if path, unix := strings.CutPrefix(endpoint, "unix://"); unix {
		err := kubelet.CheckNone(ctx, path)
		if _, unseen := errors.AsType[*kubelet.UnseenError](err); err != nil && !unseen {
			return nil, hint.With(err, "stop the kubelet, or use another runtime with -r")
		}
	}
	paths, err := host.DefaultPaths.With(o.Node.Paths)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(paths.Root, "conform", host.RuntimeID(endpoint))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	unlock, err := flock.Lock(waiting, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, hint.With(fmt.Errorf("another podctl conform uses %s: %w", endpoint, err), "wait for its end")
	}
	p := &workspace{dir: dir, unlock: unlock}
	left := 0
	if p.mark, err = markOf(dir); err == nil {
		left, err = sweep(changes, o.Client, p.mark)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	if left > 0 {
		o.Left(left)
	}
	return p, nil
}

// markSize is the length of a mark in bytes, which are written as hexadecimal digits.
const markSize = 6

// markOf returns the mark of a directory, the same for as long as the directory exists. It is
// drawn: in another mount namespace a directory may have the same path, and a podctl there uses
// the same runtime without seeing this lock. Its pods are not to be removed.
func markOf(dir string) (string, error) {
	path := filepath.Join(dir, "mark")
	text, err := bounded.Read(path, 2*markSize)
	if drawn, invalid := hex.DecodeString(string(text)); err == nil && invalid == nil && len(drawn) == markSize {
		return string(text), nil
	}
	drawn := make([]byte, markSize)
	_, _ = rand.Read(drawn) // it never fails
	mark := hex.EncodeToString(drawn)
	return mark, atomicfile.Write(path, []byte(mark), 0o600)
}

// chooseImage returns the image that the user named, if the runtime holds it, else one that
// it has.
func chooseImage(ctx context.Context, client *cri.Client, named string) (string, error) {
	if named != "" {
		image, err := client.ImageStatus(ctx, named)
		if err == nil && image == nil {
			err = hint.Errorf("podctl pull "+named, "the runtime does not hold the image %s", named)
		}
		return named, err
	}
	images, err := client.ListImages(ctx)
	if err != nil {
		return "", err
	}
	sandboxImage, err := client.SandboxImage(ctx)
	if err != nil {
		return "", err
	}
	return imageThatRuns(images, sandboxImage)
}

// imageThatRuns returns an image by whose name it is known that a container of it can be made:
// busybox, alpine, pause, or sandboxImage, the runtime's own ("" if it does not name it).
func imageThatRuns(images []*pod.Image, sandboxImage string) (string, error) {
	var best string
	for _, i := range images {
		for _, tag := range i.RepoTags {
			repository, _, _ := strings.Cut(tag[strings.LastIndex(tag, "/")+1:], ":")
			known := repository == "busybox" || repository == "alpine" || repository == "pause" || tag == sandboxImage
			if known && (best == "" || tag < best) {
				best = tag
			}
		}
	}
	if best == "" {
		return "", hint.Errorf("--image NAME of one that it has", "the runtime holds no image that is known to run: busybox, alpine or pause")
	}
	return best, nil
}

const (
	// sweepers is how many pods are removed at once.
	sweepers = 8
	// sweepTries is how often a removal is tried, sweepPause apart: a busy containerd answers
	// an error such as "ttrpc: closed" to a stop of what has just ended.
	sweepTries = 10
	sweepPause = 300 * time.Millisecond
)

// sweep removes every sandbox of the runtime with this mark, and returns how many there were.
func sweep(ctx context.Context, client *cri.Client, mark string) (int, error) {
	pods, err := client.ListPods(ctx)
	if err != nil {
		return 0, err
	}
	var marked []string
	for _, p := range pods {
		for _, s := range p.Sandboxes {
			if is, ok := s.Labels[Label]; ok && is == mark {
				marked = append(marked, s.ID)
			}
		}
	}
	errs := make([]error, len(marked))
	var wg sync.WaitGroup
	for w := range sweepers {
		wg.Go(func() {
			for i := w; i < len(marked); i += sweepers {
				for range sweepTries {
					errs[i] = client.StopPodSandbox(ctx, marked[i])
					if errs[i] == nil {
						errs[i] = client.RemovePodSandbox(ctx, marked[i])
					}
					if errs[i] == nil || ctx.Err() != nil {
						break
					}
					time.Sleep(sweepPause)
				}
			}
		})
	}
	wg.Wait()
	return len(marked), errors.Join(errs...)
}
