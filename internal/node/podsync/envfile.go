package podsync

import (
	"errors"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxEnvFile bounds a file of variables: containers write them.
const maxEnvFile = 1 << 20

var errEnvFile = errors.New("couldn't parse env file")

// envFile reads a variable from a file that a container left in a volume, ""
// if the file does not set it (pkg/kubelet/util/env). The file is opened
// below the volume, whatever symlinks say, and must be a regular one: nothing
// else is opened, not even for a moment.
func (r *run) envFile(ref *v1.FileKeySelector) (string, error) {
	dir, ok := r.volumes[ref.VolumeName]
	if !ok {
		return "", fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	text, err := readBelow(dir, ref.Path)
	if err != nil {
		r.opt.Log.Warn("env file", "uid", r.p.UID, "volume", ref.VolumeName, "path", ref.Path, "err", err)
		return "", errEnvFile
	}
	value, err := parseEnv(text, ref.Key)
	if err != nil {
		r.opt.Log.Warn("env file", "uid", r.p.UID, "volume", ref.VolumeName, "path", ref.Path, "err", err)
		return "", errEnvFile
	}
	return value, nil
}

func readBelow(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	f, err := bounded.OpenIn(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := bounded.All(f, maxEnvFile)
	return string(data), err
}

// parseEnv returns the value of the first assignment to key in lines of NAME='value'.
// The quoted text is taken literally, newlines included; a comment may follow. A space
// after the = makes the value empty. Lines after the assignment are not parsed. Errors
// contain no values.
func parseEnv(text, key string) (string, error) {
	for line := 1; text != ""; line++ {
		current, rest, _ := strings.Cut(text, "\n")
		current = strings.TrimSuffix(strings.TrimLeft(current, " \t"), "\r")
		if current == "" || current[0] == '#' {
			text = rest
			continue
		}
		name, value, ok := strings.Cut(current, "=")
		switch {
		case !ok || name == "" || strings.TrimRight(name, " \t") != name:
			return "", fmt.Errorf("line %d does not begin with NAME=", line)
		case strings.TrimLeft(value, " \t") != value:
			if name == key {
				return "", nil
			}
			text = rest
			continue
		case !strings.HasPrefix(value, "'"):
			return "", fmt.Errorf("line %d: the value is not in single quotes", line)
		}
		begin := strings.Index(text, "='") + len("='")
		value, after, closed := strings.Cut(text[begin:], "'")
		if !closed {
			return "", fmt.Errorf("line %d: the quote is not closed", line)
		}
		behind, rest, _ := strings.Cut(after, "\n")
		if behind = strings.TrimSpace(behind); behind != "" && behind[0] != '#' {
			return "", fmt.Errorf("line %d: something follows the value", line)
		}
		if name == key {
			return value, nil
		}
		line += strings.Count(value, "\n")
		text = rest
	}
	return "", nil
}
