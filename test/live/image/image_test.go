package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func busybox(t *testing.T) v1.Image {
	t.Helper()
	img, err := Busybox()
	if err != nil {
		t.Skipf("no test image: %v", err)
	}
	return img
}

func TestBusyboxHasShellPathAndNoEntrypoint(t *testing.T) {
	img := busybox(t)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Env: []string{searchPath}, Cmd: []string{"sh"}}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	links := map[string]string{}
	for h := range headers(t, img) {
		links[h.Name] = h.Linkname
	}
	for _, applet := range []string{"sh", "sleep", "true", "false", "nc", "httpd", "test"} {
		if links["bin/"+applet] != "busybox" {
			t.Errorf("bin/%s links to %q, want busybox", applet, links["bin/"+applet])
		}
	}
}

func TestImagesAreReproducible(t *testing.T) {
	busybox(t)
	makers := map[string]func() (v1.Image, error){
		"busybox": Busybox,
		"pause":   func() (v1.Image, error) { return Pause(t.Context()) },
	}
	for name, maker := range makers {
		var digests [2]v1.Hash
		for i := range digests {
			img, err := maker()
			if err != nil {
				t.Fatal(err)
			}
			if digests[i], err = img.Digest(); err != nil {
				t.Fatal(err)
			}
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: two builds gave %s and %s", name, digests[0], digests[1])
		}
	}
}

func TestSavedImageKeepsItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "busybox.tar")
	if err := Save(path, BusyboxName, busybox(t)); err != nil {
		t.Fatal(err)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{BusyboxName}, manifest[0].RepoTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

// headers yields the tar headers of the image's only layer.
func headers(t *testing.T, img v1.Image) func(func(*tar.Header) bool) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %d, %v; want one", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*tar.Header) bool) {
		defer r.Close()
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !yield(h) {
				return
			}
		}
	}
}

func TestPodctlImageIsStaticReproducibleAndNonRoot(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "podctl")
	cmd := exec.Command("go", "build", "-o", binary, "github.com/podctl/podctl/hack/pause") // any static program
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var archives [2][]byte
	for i := range archives {
		img, err := Podctl(binary)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil || config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 {
			t.Errorf("%+v, %v", config.Config, err)
		}
		path := filepath.Join(t.TempDir(), "image.tar")
		if err := SaveOCI(path, PodctlName, img); err != nil {
			t.Fatal(err)
		}
		if archives[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of one binary differ")
	}
	if !regexp.MustCompile(`"io\.containerd\.image\.name": ?"` + regexp.QuoteMeta(PodctlName) + `"`).Match(archives[0]) {
		t.Errorf("the archive does not name the image: %s", regexp.MustCompile(`"io.containerd[^,}]*`).FindAll(archives[0], -1))
	}
	if self, err := os.Executable(); err == nil {
		if _, err := Podctl(self + ".none"); err == nil {
			t.Error("a missing binary makes an image")
		}
	}
}
