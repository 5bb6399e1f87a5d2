package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	kubernetes "k8s.io/kubernetes/test/utils/image"

	"github.com/podctl/podctl/test/live/image"
)

var path = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// build makes the images, by their full names.
func build(ctx context.Context, dir string) (map[string]v1.Image, error) {
	b := builder{dir: dir, images: map[string]v1.Image{}}
	pause, err := image.Pause(ctx)
	if err != nil {
		return nil, err
	}
	b.images[kubernetes.GetPauseImageName()] = pause
	busybox := b.busybox()
	agnhost := b.agnhost(busybox, pause)
	b.name(kubernetes.NonRoot, b.extend(busybox, nil, v1.Config{Cmd: []string{"sh"}, User: "1234"}))
	b.name(kubernetes.Nonewprivs, b.extend(busybox, []image.File{b.program("usr/local/bin/nnp", "nonewprivs", 0o6755)}, v1.Config{Cmd: []string{"nnp"}}))
	web := b.extend(agnhost, nil, v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"netexec", "--http-port=80"}})
	b.name(kubernetes.Nginx, web)
	b.name(kubernetes.NginxNew, web)
	b.name(kubernetes.Kitten, b.extend(agnhost, []image.File{
		{Name: "kitten.jpg", Mode: 0o644}, {Name: "data.json", Mode: 0o644, Data: []byte(`{"image": "kitten.jpg"}`)},
	}, v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"test-webserver"}}))
	resolver, _ := filepath.Glob("/lib/*-linux-gnu/libnss_*.so.2") // a constant pattern
	hostname := append(b.host(append(resolver, "/usr/bin/hostname")...),
		image.File{Name: "bin/hostname", Mode: 0o777, Target: "/usr/bin/hostname"},
		image.File{Name: "etc/nsswitch.conf", Mode: 0o644, Data: []byte("hosts: files dns\n")})
	b.name(kubernetes.GlibcDnsTesting, b.extend(agnhost, hostname, v1.Config{Cmd: []string{"sh"}}))
	return b.images, b.err
}

// builder makes images. After an error it makes nothing more, and build returns it.
type builder struct {
	dir    string
	images map[string]v1.Image
	err    error
}

// name adds an image under one of the names of Kubernetes' tests.
func (b *builder) name(id kubernetes.ImageID, img v1.Image) {
	b.images[kubernetes.GetE2EImage(id)] = img
}

func (b *builder) extend(base v1.Image, files []image.File, config v1.Config) v1.Image {
	if b.err != nil {
		return nil
	}
	config.Env = path
	var img v1.Image
	img, b.err = image.Extend(base, files, config)
	return img
}

func (b *builder) read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil && b.err == nil {
		b.err = err
	}
	return data
}

// program is one of the programs built from Kubernetes' source.
func (b *builder) program(path, name string, mode int64) image.File {
	return image.File{Name: path, Mode: mode, Data: b.read(filepath.Join(b.dir, name))}
}

var library = regexp.MustCompile(`/\S+`)

// host returns programs or libraries of the host with the libraries that they need.
func (b *builder) host(paths ...string) []image.File {
	found := map[string]bool{}
	for _, p := range paths {
		found[p] = true
		out, _ := exec.Command("ldd", p).Output() // fails for a static program
		for _, lib := range library.FindAllString(string(out), -1) {
			found[lib] = true
		}
	}
	var files []image.File
	for p := range found {
		files = append(files, image.File{Name: strings.TrimPrefix(p, "/"), Mode: 0o755, Data: b.read(p)})
	}
	return files
}

// busybox has bash for sh: the host's busybox drops variables whose names are no
// identifiers, such as data-1, which tests ask for.
func (b *builder) busybox() v1.Image {
	base, err := image.Busybox()
	if err != nil {
		b.err = err
		return nil
	}
	img := b.extend(base, append(b.host("/usr/bin/bash"),
		image.File{Name: "bin/sh", Mode: 0o777, Target: "/usr/bin/bash"},
		image.File{Name: "bin/bash", Mode: 0o777, Target: "/usr/bin/bash"},
		image.File{Name: "etc/os-release", Mode: 0o644, Data: []byte("NAME=\"Alpine Linux\"\nID=alpine\n")},
	), v1.Config{Cmd: []string{"sh"}})
	b.name(kubernetes.BusyBox, img)
	return img
}

const (
	agnhostPasswd = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n" +
		"user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
	agnhostGroup = "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"
)

// agnhost is Kubernetes' test program with the user and groups of its Dockerfile, and in
// the place from which it serves an image itself the pause image.
func (b *builder) agnhost(busybox, pause v1.Image) v1.Image {
	if b.err != nil {
		return nil
	}
	porter := func(file string) image.File {
		return image.File{Name: file, Mode: 0o644, Data: b.read(filepath.Join(b.dir, file))}
	}
	files := append(b.host("/usr/bin/curl"), b.program("agnhost", "agnhost", 0o755), porter("localhost.crt"), porter("localhost.key"),
		image.File{Name: "agnhost-2", Mode: 0o777, Target: "agnhost"},
		image.File{Name: "uploads/", Mode: 0o755},
		image.File{Name: "etc/passwd", Mode: 0o644, Data: []byte(agnhostPasswd)},
		image.File{Name: "etc/group", Mode: 0o644, Data: []byte(agnhostGroup)})
	files = append(files, b.served("pause", "testing", pause)...)
	img := b.extend(busybox, files, v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}})
	b.name(kubernetes.Agnhost, img)
	b.name(kubernetes.AgnhostPrev, img)
	return img
}

// served returns the files from which agnhost fake-registry-server serves an image
// (test/images/agnhost/fakeregistryserver).
func (b *builder) served(repository, tag string, img v1.Image) []image.File {
	dir := "var/registry/" + repository + "/"
	var files []image.File
	add := func(kind string, digest v1.Hash, data []byte) {
		files = append(files, image.File{Name: dir + kind + "/" + digest.Algorithm + "/" + digest.Hex[:2] + "/" + digest.Hex + "/data", Mode: 0o644, Data: data})
	}
	err := eachBlob(img, func(digest v1.Hash, data []byte) { add("blobs", digest, data) })
	digest, digestErr := img.Digest()
	data, dataErr := img.RawManifest()
	if b.err = cmp.Or(b.err, err, digestErr, dataErr); b.err != nil {
		return nil
	}
	add("manifests", digest, data)
	return append(files, image.File{Name: dir + "manifests/" + tag, Mode: 0o644, Data: []byte(digest.String())})
}

// eachBlob calls each for the configuration of an image and its layers.
func eachBlob(img v1.Image, each func(digest v1.Hash, data []byte)) error {
	config, err := partial.ConfigLayer(img)
	if err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range append(layers, config) {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		r, err := l.Compressed()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		each(digest, data)
	}
	return nil
}
