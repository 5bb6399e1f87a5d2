// Command critest writes docs/critest.md from the results of hack/critest.
//
//	go -C test run ./critest RESULTS DOCS
//
// RESULTS is a directory with a JUnit file. Exit code 1: a spec fails, and nothing in
// knownFailures says why, or one of those passes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/test/junit"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: critest RESULTS DOCS")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "critest:", err)
		os.Exit(1)
	}
}

func write(dir, docs string) error {
	all, err := junit.Read(dir)
	if err == nil && len(all) == 0 {
		err = errors.New("there are no results: run make critest")
	}
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(docs, "critest.md"), []byte(page(all)), 0o644), unexplained(all))
}
