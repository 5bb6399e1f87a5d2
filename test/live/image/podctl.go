package image

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// PodctlName is the name of podctl's image in examples/fleet. It is of no
// registry, so that a node that lacks the image does not pull another one.
const PodctlName = "podctl.local/podctl:latest"

const (
	podctlPasswd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	podctlGroup  = "root:x:0:\nnonroot:x:65532:\n"
)

// Podctl makes podctl's image of a static binary: what the Dockerfile makes, but
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
	entries := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte(podctlPasswd)}, {name: "etc/group", mode: 0o644, data: []byte(podctlGroup)},
		{name: "home/", mode: 0o755}, {name: "home/nonroot/", mode: 0o755}, {name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755}, {name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/podctl", mode: 0o755, data: data},
	}
	return build(entries, v1.Config{
		Env: []string{searchPath}, Entrypoint: []string{"/usr/local/bin/podctl"}, User: "65532:65532",
	})
}
