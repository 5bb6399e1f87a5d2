package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func TestImagesOfTwoPlatformsAreOneIndex(t *testing.T) {
	dir := t.TempDir()
	var images []v1.Image
	for _, arch := range []string{"amd64", "arm64"} {
		binary := filepath.Join(dir, arch)
		cmd := exec.Command("go", "build", "-o", binary, "github.com/podctl/podctl/hack/pause") // any static program
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		img, err := Podctl(binary)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	path := filepath.Join(dir, "image.tar")
	if err := SaveOCI(path, PodctlName, images...); err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	if out, err := exec.Command("tar", "-xf", path, "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root, err := layout.ImageIndexFromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	top, err := root.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%+v, %v; want one named index", top, err)
	}
	index, err := root.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	all, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range all.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		platforms = append(platforms, m.Platform.String(), config.OS+"/"+config.Architecture)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/amd64", "linux/arm64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms of index and images (-want +got):\n%s", diff)
	}
}
