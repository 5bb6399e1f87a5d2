package image

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// SaveOCI writes the image as an OCI archive that `ctr images import`, `podman
// load` and skopeo read, tagged with the given name; of images of several platforms
// an index. The same images give the same file, which appears whole or not at all.
func SaveOCI(path, tag string, images ...v1.Image) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	dir, err := os.MkdirTemp("", "podctl-image")
	if err != nil {
		return fmt.Errorf("save image %s: %w", tag, err)
	}
	defer os.RemoveAll(dir)
	index, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("save image %s: %w", tag, err)
	}
	var all []mutate.IndexAddendum
	for _, img := range images {
		config, err := img.ConfigFile()
		if err != nil {
			return fmt.Errorf("save image %s: %w", tag, err)
		}
		all = append(all, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}}})
	}
	named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": ref.Name(), "org.opencontainers.image.ref.name": ref.TagStr()})
	if len(all) == 1 {
		err = index.AppendImage(images[0], layout.WithPlatform(*all[0].Platform), named)
	} else {
		err = index.AppendIndex(mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), all...), named)
	}
	if err == nil {
		err = archive(dir, path+".tmp")
	}
	if err != nil {
		return fmt.Errorf("save image %s: %w", tag, err)
	}
	return os.Rename(path+".tmp", path)
}

// archive writes the files below a directory, in the order of their names and
// without owners and times.
func archive(dir, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Close is called below, too
	w := tar.NewWriter(f)
	err = fs.WalkDir(os.DirFS(dir), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = f.Close()
	}
	return err
}
