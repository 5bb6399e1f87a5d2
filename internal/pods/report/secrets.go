package report

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/internal/sys/bounded"
)

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
