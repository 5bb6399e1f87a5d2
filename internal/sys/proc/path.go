package proc

import "path/filepath"

// ResolvedPath is a path without symbolic links in its directory, which need not exist: /var/run
// is /run. "" stays "".
func ResolvedPath(path string) string {
	if path == "" {
		return ""
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return filepath.Clean(path)
}
