package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	switch p.Comm {
	case "containerd":
		file := p.Flag("config", "c")
		if file == "" {
			file = "/etc/containerd/config.toml"
		}
		return append([]string{file, filepath.Join(filepath.Dir(file), "conf.d/*.toml"), filepath.Join(filepath.Dir(file), "certs.d/*/hosts.toml")}, cni...)
	case "crio":
		file, dir := p.Flag("config", "c"), p.Flag("config-dir", "d")
		if file == "" {
			file = "/etc/crio/crio.conf"
		}
		if dir == "" {
			dir = "/etc/crio/crio.conf.d"
		}
		return append([]string{file, dir + "/*", "/etc/containers/registries.conf", "/etc/containers/registries.conf.d/*", "/etc/containers/storage.conf"}, cni...)
	}
	return cni
}

// Flag returns the value of a flag of the command line.
func (p Program) Flag(names ...string) string {
	for i, arg := range p.Args {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || !slices.Contains(names, name):
		case given:
			return value
		case i+1 < len(p.Args):
			return p.Args[i+1]
		}
	}
	return ""
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
		files = append(files, File{"command-line.txt", []byte(strings.Join(p.Args, " ") + "\n")})
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
			files = append(files, File{"files/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), text})
		}
	}
	return files, errors.Join(unread...)
}
