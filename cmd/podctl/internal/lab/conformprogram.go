package lab

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

	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/sys/hint"
)

// copyPodctl copies podctl, which containers run, and the libraries that it needs, to files that
// every user may run, and completes the options with them. The directory is for these alone.
func copyPodctl(dir string, at *conform.ManifestOptions) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	libraries, err := librariesOf(self, string(maps))
	if err != nil {
		return fmt.Errorf("read %s: %w", self, err)
	}
	_ = os.RemoveAll(dir) // a container of a killed one may still run it
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	at.Probe, at.Libraries = filepath.Join(dir, "podctl"), map[string]string{}
	files := map[string]string{self: at.Probe}
	for _, path := range libraries {
		at.Libraries[path] = filepath.Join(dir, filepath.Base(path))
		files[path] = at.Libraries[path]
	}
	for from, to := range files {
		content, err := os.ReadFile(from)
		if err := errors.Join(err, os.WriteFile(to, content, 0o755), os.Chmod(to, 0o755)); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// librariesOf returns the paths of the loader and the libraries of a running program, none if it
// is linked statically. maps is its /proc/PID/maps: libraries are where loaded ones are.
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
	loader, err := io.ReadAll(file.Progs[at].Open())
	if err != nil {
		return nil, err
	}
	all := []string{string(bytes.TrimRight(loader, "\x00"))}
	needed, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, name := range needed {
		found := ""
		for line := range strings.Lines(maps) {
			at := strings.IndexByte(line, '/')
			if found != "" || at < 0 || !strings.Contains(line, ".so") {
				continue
			}
			if path := filepath.Join(filepath.Dir(strings.TrimSpace(line[at:])), name); fileExists(path) {
				found = path
			}
		}
		if found == "" {
			return nil, hint.Errorf("CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest", "its library %s is not found, without which no container could run it", name)
		}
		all = append(all, found)
	}
	return all, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
