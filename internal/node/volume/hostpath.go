package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// hostPath is a file or directory of the host, which may have to be of a
// type, and is made if its type says so. It is never removed.
var hostPath = kind{
	pathOutside: func(_ string, _ *v1.Pod, v *v1.Volume, _ *pod.Objects) string { return v.HostPath.Path },
	owns:        func(v *v1.Volume) bool { return v.HostPath != nil },
	setUp:       setUpHostPath,
}

func setUpHostPath(_ context.Context, r request) error {
	return prepareHostPath(r.path, r.volume.HostPath.Type)
}

// prepareHostPath checks the type, as does the kubelet: symlinks count as what
// they lead to (pkg/volume/hostpath/host_path.go).
func prepareHostPath(path string, t *v1.HostPathType) error {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Errorf("invalid hostPath %q: it must not contain '..'", path)
	}
	wanted := v1.HostPathUnset
	if t != nil {
		wanted = *t
	}
	info, err := os.Stat(path)
	missing := errors.Is(err, os.ErrNotExist)
	if missing && wanted == v1.HostPathDirectoryOrCreate {
		return os.MkdirAll(path, 0o755)
	}
	if missing && wanted == v1.HostPathFileOrCreate {
		return makeFile(path)
	}
	check, known := hostPathTypes[wanted]
	switch {
	case !known:
		return fmt.Errorf("%s is an invalid volume type", wanted)
	case wanted == v1.HostPathUnset:
		return nil
	case missing:
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: path %q does not exist", path, check.name, path)
	case err != nil:
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: %w", path, check.name, err)
	case !check.is(info.Mode()):
		return wrongType(path, check.name, info.Mode())
	}
	return nil
}

// wrongType says what a file is instead of the type that it has to have.
func wrongType(path, wanted string, mode os.FileMode) error {
	for _, t := range []v1.HostPathType{v1.HostPathDirectory, v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev} {
		if hostPathTypes[t].is(mode) {
			return fmt.Errorf("hostPath type check failed: %s is not a %s, it's a %s", path, wanted, t)
		}
	}
	return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: it is of mode %s", path, wanted, mode)
}

// MustExist reports whether a hostPath of that type has to be there. One without a type need not,
// and those that end in OrCreate are made.
func MustExist(t v1.HostPathType) bool {
	check, known := hostPathTypes[t]
	return known && check.is != nil && t != v1.HostPathDirectoryOrCreate && t != v1.HostPathFileOrCreate
}

// HasHostPathType reports whether a file of a mode is of the type; everything is of a type that is
// not set or not known.
func HasHostPathType(mode os.FileMode, t v1.HostPathType) bool {
	check := hostPathTypes[t]
	return check.is == nil || check.is(mode)
}

// hostPathType reports whether a file is of a type, and what to call it if not.
type hostPathType struct {
	name string
	is   func(os.FileMode) bool
}

var (
	aDirectory = hostPathType{"directory", os.FileMode.IsDir}
	aFile      = hostPathType{"file", os.FileMode.IsRegular}

	hostPathTypes = map[v1.HostPathType]hostPathType{
		v1.HostPathUnset:             {},
		v1.HostPathDirectory:         aDirectory,
		v1.HostPathDirectoryOrCreate: aDirectory,
		v1.HostPathFile:              aFile,
		v1.HostPathFileOrCreate:      aFile,
		v1.HostPathSocket:            {"socket file", func(m os.FileMode) bool { return m.Type() == os.ModeSocket }},
		v1.HostPathCharDev:           {"character device", func(m os.FileMode) bool { return m.Type() == os.ModeDevice|os.ModeCharDevice }},
		v1.HostPathBlockDev:          {"block device", func(m os.FileMode) bool { return m.Type() == os.ModeDevice }},
	}
)

// makeFile makes an empty file, in a directory that exists.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// image is the content of a container image. The runtime has it, and mounts
// it: here is nothing to make, and no host path.
var image = kind{
	pathOutside: func(string, *v1.Pod, *v1.Volume, *pod.Objects) string { return "" },
	owns:        func(v *v1.Volume) bool { return v.Image != nil },
	setUp:       func(context.Context, request) error { return nil },
}
