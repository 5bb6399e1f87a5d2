// Command podctlimage writes podctl's container image as an OCI archive: an index of several
// platforms if it is given several binaries. It needs neither Docker nor a registry.
//
//	go -C test run ./podctlimage ARCHIVE NAME BINARY…
//
// An empty NAME is that of examples/fleet.
package main

import (
	"cmp"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podctl/podctl/test/live/image"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: podctlimage ARCHIVE NAME BINARY…")
		os.Exit(2)
	}
	if err := save(os.Args[1], cmp.Or(os.Args[2], image.PodctlName), os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "podctlimage:", err)
		os.Exit(1)
	}
}

func save(archive, name string, binaries []string) error {
	var images []v1.Image
	for _, binary := range binaries {
		img, err := image.Podctl(binary)
		if err != nil {
			return err
		}
		digest, err := img.Digest()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %s\n", archive, name, digest)
		images = append(images, img)
	}
	return image.SaveOCI(archive, name, images...)
}
