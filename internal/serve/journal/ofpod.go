package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// ReadPod returns the entries of one pod, in their order in the files. Lines that do not
// hold its UID are not parsed. A journal that does not exist has none.
func ReadPod(dir string, uid types.UID) ([]Entry, error) {
	var found []Entry
	for _, name := range []string{rotatedName, currentName} {
		f, err := bounded.OpenNoFollow(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found, err
		}
		data, err := bounded.All(f, maxRead)
		if err = errors.Join(err, f.Close()); err != nil {
			return found, err
		}
		var lines []byte
		for line := range bytes.Lines(data) {
			if bytes.Contains(line, []byte(uid)) {
				lines = append(lines, line...)
			}
		}
		for _, e := range parse(lines) {
			if e.UID == uid {
				found = append(found, e)
			}
		}
	}
	return found, nil
}
