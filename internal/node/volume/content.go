package volume

import (
	"context"
	"errors"
	"os"

	v1 "k8s.io/api/core/v1"
)

// The kinds whose files podctl writes: configMap, secret, downwardAPI and
// projected. They are brought up to date at every Mount.

// contentKind returns a kind of volume with files that podctl writes. collect returns
// the files; memory keeps them off the disk.
func contentKind(dir string, memory bool, owns func(*v1.Volume) bool, collect func(request) (files, error)) kind {
	setUp := func(ctx context.Context, r request) error {
		want, err := collect(r)
		if err != nil {
			return err
		}
		base := setUpDirectory
		if memory {
			base = setUpMemory
		}
		if err := base(ctx, r); err != nil {
			return err
		}
		if err := makeMountPoints(r.path, r.pod, r.volume.Name); err != nil {
			return err
		}
		return writeFiles(r.path, want, func() error { return giveTo(ctx, r.path, fsGroup(r.pod), readOnly) })
	}
	return kind{dir: dir, owns: owns, setUp: setUp, live: true}
}

var errNoMode = errors.New("no defaultMode used, not even the default value for it")

// pick returns files for the values of an object: for all, or for those that items
// name. missing returns the error for a missing key, nil if the key is optional.
func pick(values map[string][]byte, items []v1.KeyToPath, mode *int32, missing func(key string) error) (files, error) {
	if mode == nil {
		return nil, errNoMode
	}
	picked := files{}
	if len(items) == 0 {
		for key, value := range values {
			picked[key] = file{data: value, mode: os.FileMode(*mode)}
		}
	}
	for _, item := range items {
		value, ok := values[item.Key]
		if !ok {
			if err := missing(item.Key); err != nil {
				return nil, err
			}
			continue
		}
		picked[item.Path] = file{data: value, mode: modeFor(item.Mode, mode)}
	}
	return picked, nil
}

// modeFor returns a file's own mode, else the volume's.
func modeFor(own, volume *int32) os.FileMode {
	if own != nil {
		return os.FileMode(*own)
	}
	return os.FileMode(*volume)
}
