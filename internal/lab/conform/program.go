package conform

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// program is where podctl is in the containers.
const program = "/podctl-conform"

// copyPodctl copies podctl, and the libraries that it needs, to files in dir that every user may
// run, and returns their paths by those in containers. The directory is for these alone.
func copyPodctl(dir string) (map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	libraries, err := librariesOf(self, string(maps))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", self, err)
	}
	_ = os.RemoveAll(dir)                                                                             // a container of a killed one may still run it
	err = errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)) // whatever the umask
	from := map[string]string{program: self}
	for _, path := range libraries {
		from[path] = path
	}
	files := map[string]string{}
	for path := range from {
		to := filepath.Join(dir, filepath.Base(path))
		files[path] = to
		content, unread := os.ReadFile(from[path])
		err = errors.Join(err, unread, os.WriteFile(to, content, 0o755), os.Chmod(to, 0o755))
	}
	return files, err
}

// librariesOf returns the paths of the loader and the libraries of a running program, none if it
// is linked statically. maps is its /proc/PID/maps: each library is where a loaded one is.
func librariesOf(program, maps string) ([]string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	at := slices.IndexFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if at < 0 {
		return nil, nil
	}
	loader, unread := io.ReadAll(file.Progs[at].Open())
	needed, err := file.ImportedLibraries()
	if err := errors.Join(unread, err); err != nil {
		return nil, err
	}
	all := []string{string(bytes.TrimRight(loader, "\x00"))}
	for _, name := range needed {
		found := ""
		for line := range strings.Lines(maps) {
			at := strings.IndexByte(line, '/')
			if at < 0 || !strings.Contains(line, ".so") {
				continue
			}
			path := filepath.Join(filepath.Dir(strings.TrimSpace(line[at:])), name)
			if _, err := os.Stat(path); err == nil {
				found = path
				break
			}
		}
		if found == "" {
			return nil, hint.Errorf("CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest", "it is linked dynamically, and its library %s is not found, which containers need", name)
		}
		all = append(all, found)
	}
	return all, nil
}
