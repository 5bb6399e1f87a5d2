// Command registry serves the images of Kubernetes' own node tests, which are made of what
// the host has, as a mirror of registry.k8s.io.
//
//	go -C test run ./conformance/registry ADDRESS DIR
//
// DIR holds agnhost and nonewprivs, built from Kubernetes' source. The images have the
// names that Kubernetes gives them (test/utils/image), and what its tests use of them.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: registry ADDRESS DIR")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func serve(address, dir string) error {
	images, err := build(context.Background(), dir)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	go func() { served <- server.Serve(listener) }()
	for full, img := range images {
		if err := push(address, full, img); err != nil {
			return err
		}
	}
	fmt.Printf("%d images at %s\n", len(images), address)
	return <-served
}

// push adds an image under its name without the host, as a mirror is asked for it.
func push(address, full string, img v1.Image) error {
	_, path, _ := strings.Cut(full, "/")
	ref, err := name.ParseReference(address + "/" + path)
	if err != nil {
		return err
	}
	return remote.Write(ref, img)
}
