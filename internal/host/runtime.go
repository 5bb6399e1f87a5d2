package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/proc"
)

// Runtime returns what identifies a runtime that is reached by an endpoint, for a
// name and a directory of images that it answered with.
func Runtime(endpoint, name, storage string) owner.Runtime {
	r := owner.Runtime{Endpoint: endpoint, Name: name, Storage: storage}
	path, isUnix := strings.CutPrefix(endpoint, "unix://")
	if !isUnix || !filepath.IsAbs(storage) {
		return r
	}
	// The runtime, or its proxy, may have files of its own.
	root := "/"
	if pid := serverPID(path); pid != 0 {
		root = proc.Default.Root(pid)
	}
	info, err := os.Stat(filepath.Join(root, storage))
	if err != nil {
		return r
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		r.File = fmt.Sprintf("%x:%x", uint64(stat.Dev), stat.Ino)
	}
	return r
}
