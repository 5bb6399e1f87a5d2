package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	// maxConfig bounds a configuration file, in bytes; maxConfigs how many are read of one
	// program.
	maxConfig  = 512 << 10
	maxConfigs = 100
)

// Program is a process whose configuration is read.
type Program struct {
	PID int
	// Comm is its name, Args its command line.
	Comm string
	Args []string
}

// RuntimeConfig returns the paths and patterns of the configuration of a runtime, by its name
// and command line.
func (p Program) RuntimeConfig() []string {
	cni := []string{"/etc/cni/net.d/*", "/etc/crictl.yaml"}
	flags := proc.Flags(p.Args)
	switch p.Comm {
	case "containerd":
		file := cmp.Or(flags["config"], flags["c"], "/etc/containerd/config.toml")
		return append([]string{file, filepath.Join(filepath.Dir(file), "conf.d/*.toml"), filepath.Join(filepath.Dir(file), "certs.d/*/hosts.toml")}, cni...)
	case "crio":
		file, dir := cmp.Or(flags["config"], flags["c"], "/etc/crio/crio.conf"), cmp.Or(flags["config-dir"], flags["d"], "/etc/crio/crio.conf.d")
		return append([]string{file, dir + "/*", "/etc/containers/registries.conf", "/etc/containers/registries.conf.d/*", "/etc/containers/storage.conf"}, cni...)
	}
	return cni
}

// ReadConfig returns the command line of a program and the files that patterns match, as the
// program sees the file system. A file that does not exist is left out.
func (p Program) ReadConfig(procs proc.FS, patterns []string) ([]File, error) {
	root := procs.Root(p.PID)
	if _, err := os.Stat(root); err != nil {
		root = "/"
	}
	var files []File
	if len(p.Args) > 0 {
		files = append(files, File{Name: "command-line.txt", Data: []byte(strings.Join(p.Args, " ") + "\n")})
	}
	var unread []error
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return files, fmt.Errorf("configuration %q: %w", pattern, err)
		}
		for _, path := range found {
			if len(files) > maxConfigs {
				return files, errors.Join(append(unread, fmt.Errorf("more than %d configuration files", maxConfigs))...)
			}
			text, err := bounded.Read(path, maxConfig)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, bounded.ErrNotRegular) {
				continue
			}
			if err != nil {
				unread = append(unread, err)
				continue
			}
			files = append(files, File{Name: "files/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), Data: text})
		}
	}
	return files, errors.Join(unread...)
}
