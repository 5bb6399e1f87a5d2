package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// entry is one file of a layer: a directory if its name ends in a slash, a
// symbolic link if target is set, otherwise a regular file.
type entry struct {
	name   string
	mode   int64
	data   []byte
	target string
}

// build makes an image of one layer that holds the entries.
func build(entries []entry, config v1.Config) (v1.Image, error) {
	layer, err := newLayer(entries)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read image config: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(img, file)
}

func newLayer(entries []entry) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), Typeflag: tar.TypeReg}
		switch {
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		case e.target != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.target
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("write %s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	})
}
