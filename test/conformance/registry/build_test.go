package main

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/podctl/podctl/test/live/image"
)

// TestServedImageIsComplete: agnhost finds the manifest by its tag, and all that the
// manifest names.
func TestServedImageIsComplete(t *testing.T) {
	img, err := random.Image(64, 2)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{}
	files := map[string]image.File{}
	for _, f := range b.served("pause", "testing", img) {
		files[f.Name] = f
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	at := func(kind, digest string) string {
		algorithm, hex, _ := strings.Cut(digest, ":")
		return "var/registry/pause/" + kind + "/" + algorithm + "/" + hex[:2] + "/" + hex + "/data"
	}
	tag := string(files["var/registry/pause/manifests/testing"].Data)
	raw, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	if got := files[at("manifests", tag)].Data; string(got) != string(raw) {
		t.Errorf("the manifest of tag %q is %q", tag, got)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(m.Layers, m.Config) {
		if got := files[at("blobs", d.Digest.String())]; int64(len(got.Data)) != d.Size {
			t.Errorf("%s has %d bytes, want %d", got.Name, len(got.Data), d.Size)
		}
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := build(t.Context(), t.TempDir()); err == nil {
		t.Error("images without agnhost")
	}
}
