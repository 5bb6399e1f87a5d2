package conform

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/internal/sys/hint"
)

// program is where podctl is in the containers.
const program = "/podctl-conform"

// copyPodctl copies podctl to a file in dir that every user may run, and returns the path. The
// directory is for it alone.
func copyPodctl(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := checkStatic(self); err != nil {
		return "", err
	}
	_ = os.RemoveAll(dir) // a container of a killed one may still run it
	to := filepath.Join(dir, filepath.Base(program))
	content, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	return to, errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755), // whatever the umask
		os.WriteFile(to, content, 0o755), os.Chmod(to, 0o755))
}

// checkStatic returns an error for a program that needs a loader and libraries, which containers
// do not have.
func checkStatic(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return hint.Errorf("CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest", "%s is linked dynamically, and cannot run in containers", program)
	}
	return nil
}
