package report

import (
	"cmp"
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

const (
	// maxSecret bounds a value that is looked for, in bytes; maxSecrets how many are.
	maxSecret  = 64 << 10
	maxSecrets = 4096
)

// secretVolumes matches the Secret volumes below a directory of pods, and those that a Secret may
// be projected into.
var secretVolumes = []string{"*/volumes/kubernetes.io~secret/*", "*/volumes/kubernetes.io~projected/*"}

// openFiles are files of projected volumes that are not secret: of a service account, and of the
// downward API.
var openFiles = []string{"namespace", "ca.crt", "labels", "annotations"}

// SecretValues returns the contents of the Secret volumes of all pods below directories: what
// no part may show.
func SecretValues(podDirs ...string) [][]byte {
	var values [][]byte
	for _, dir := range podDirs {
		for _, pattern := range secretVolumes {
			volumes, _ := filepath.Glob(filepath.Join(dir, pattern)) // a directory that is no pattern has none
			for _, volume := range volumes {
				_ = filepath.WalkDir(volume, func(path string, e fs.DirEntry, err error) error {
					switch {
					case len(values) >= maxSecrets:
						return fs.SkipAll
					case err != nil || !e.Type().IsRegular() || slices.Contains(openFiles, e.Name()): // a link leads to what is seen anyway
						return nil
					}
					if value, err := bounded.ReadNoFollow(path, maxSecret); err == nil && len(value) > 0 {
						values = append(values, value)
					}
					return nil
				})
			}
		}
	}
	return values
}
