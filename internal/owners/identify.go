package owners

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// identifyTimeout bounds the call by which a runtime is identified.
const identifyTimeout = 2 * time.Second

// Identify returns what the runtime is recognized by, whatever endpoint leads to it.
// With an error, it is recognized by its socket alone. A simulated runtime is known by
// its name: it is within its process.
func Identify(ctx context.Context, client *cri.Client) (owner.Runtime, error) {
	endpoint, name := client.Endpoint(), client.Connected().Name
	if endpoint.Runtime == cri.SimEndpoint {
		return owner.Runtime{Name: name}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	storage, err := client.ImageFilesystem(ctx)
	return owner.Runtime{
		Endpoint: endpoint.Runtime, Name: name, Storage: storage,
		File: fileOf(cri.ServerOf(endpoint).PID, storage),
	}, err
}

// Unseen returns an *owner.UnseenError if the process that serves the runtime is in
// another PID namespace, or must not be read: then the podctl processes that use it may
// not be visible either. It returns nil if they are.
func Unseen(client *cri.Client, procs proc.FS) error {
	at := client.Endpoint()
	if !strings.HasPrefix(at.Runtime, "unix://") {
		return nil
	}
	server := cri.ServerOf(at).PID
	if server == 0 {
		return &owner.UnseenError{}
	}
	// The kernel asks for the same rights before it shows open files, which tell of locks.
	if _, err := procs.Namespace(server, "pid"); err != nil && !errors.Is(err, proc.ErrGone) {
		return &owner.UnseenError{Unreadable: true}
	}
	return nil
}

// fileOf is the device and inode of a path as the process that serves the runtime's
// socket sees it, which may have files of its own; "" if it is not seen.
func fileOf(pid int, path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	root := "/"
	if pid != 0 {
		root = proc.Default.Root(pid)
	}
	info, err := os.Stat(filepath.Join(root, path))
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x:%x", uint64(stat.Dev), stat.Ino)
}
