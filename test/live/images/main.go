// Command images writes the test image and the pause image of podctl's
// private runtimes as busybox.tar and pause.tar into a directory.
//
//	go -C test run ./live/images DIR
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/test/live/image"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: images DIR")
		os.Exit(2)
	}
	if err := save(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func save(ctx context.Context, dir string) error {
	busybox, err := image.Busybox()
	if err != nil {
		return err
	}
	pause, err := image.Pause(ctx)
	if err != nil {
		return err
	}
	if err := image.Save(filepath.Join(dir, "busybox.tar"), image.BusyboxName, busybox); err != nil {
		return err
	}
	return image.Save(filepath.Join(dir, "pause.tar"), image.PauseName, pause)
}
