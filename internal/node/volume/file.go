package volume

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// WriteFile writes a file of the pod's directory and returns its path. A
// reader sees the old content or the new; a file that has this content already stays
// the same file, so that containers that have it mounted go on seeing it.
func (m *Manager) WriteFile(uid types.UID, name string, content []byte, mode os.FileMode) (string, error) {
	if err := errors.Join(checkName("uid", string(uid)), checkName("file", name)); err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	path := filepath.Join(m.Dir(uid), name)
	if same(path, content, mode) {
		return path, nil
	}
	if err := atomicfile.Replace(path, content, mode); err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	return path, nil
}

// same reports whether a file has this content and mode. Containers can write to the
// file; no more than the length of the content is read.
func same(path string, content []byte, mode os.FileMode) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != mode || info.Size() != int64(len(content)) {
		return false
	}
	old, err := bounded.Read(path, info.Size())
	return err == nil && bytes.Equal(old, content)
}
