package image

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// PodctlName is the name of podctl's image in examples/fleet. It is of no
// registry, so that a node that lacks the image does not pull another one.
const PodctlName = "podctl.local/podctl:latest"

const (
	podctlPasswd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	podctlGroup  = "root:x:0:\nnonroot:x:65532:\n"
)

// Podctl makes podctl's image of a static binary, for its architecture: what the Dockerfile makes, but
// from scratch instead of distroless, so without CA certificates and time zones.
func Podctl(binary string) (v1.Image, error) {
	static, err := isStatic(binary)
	if err != nil {
		return nil, fmt.Errorf("read podctl: %w", err)
	}
	if !static {
		return nil, fmt.Errorf("read podctl: %s is linked dynamically", binary)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read podctl: %w", err)
	}
	files := []File{
		{Name: "etc/", Mode: 0o755},
		{Name: "etc/passwd", Mode: 0o644, Data: []byte(podctlPasswd)}, {Name: "etc/group", Mode: 0o644, Data: []byte(podctlGroup)},
		{Name: "home/", Mode: 0o755}, {Name: "home/nonroot/", Mode: 0o755}, {Name: "tmp/", Mode: 0o1777},
		{Name: "usr/", Mode: 0o755}, {Name: "usr/local/", Mode: 0o755}, {Name: "usr/local/bin/", Mode: 0o755},
		{Name: "usr/local/bin/podctl", Mode: 0o755, Data: data},
	}
	img, err := Build(files, v1.Config{
		Env: []string{searchPath}, Entrypoint: []string{"/usr/local/bin/podctl"}, User: "65532:65532",
	})
	if err != nil {
		return nil, err
	}
	return withArchitecture(img, data)
}

// architectures are those for which podctl is released, by the word in the binary's header.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// withArchitecture replaces the architecture of an image by that of a binary.
func withArchitecture(img v1.Image, binary []byte) (v1.Image, error) {
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read podctl: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read image config: %w", err)
	}
	config = config.DeepCopy()
	config.Architecture = cmp.Or(architectures[file.Machine], config.Architecture)
	return mutate.ConfigFile(img, config)
}
