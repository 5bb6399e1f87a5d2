// Command podctlimage writes podctl's container image as an OCI archive. It needs
// neither Docker nor a registry.
//
//	go -C test run ./podctlimage BINARY ARCHIVE [NAME]
package main

import (
	"fmt"
	"os"

	"github.com/podctl/podctl/test/live/image"
)

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: podctlimage BINARY ARCHIVE [NAME]")
		os.Exit(2)
	}
	name := image.PodctlName
	if len(os.Args) == 4 {
		name = os.Args[3]
	}
	if err := save(os.Args[1], os.Args[2], name); err != nil {
		fmt.Fprintln(os.Stderr, "podctlimage:", err)
		os.Exit(1)
	}
}

func save(binary, archive, name string) error {
	img, err := image.Podctl(binary)
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	if err := image.SaveOCI(archive, name, img); err != nil {
		return err
	}
	_, err = fmt.Printf("%s: %s %s\n", archive, name, digest)
	return err
}
