// Command page writes docs/conformance.md from the results of hack/conformance.
//
//	go -C test run ./conformance/page RESULTS DOCS
//
// RESULTS holds JUnit files in RUNTIME/podctl and RUNTIME/kubelet. Exit code 1: a spec
// fails with podctl and not with the kubelet, and nothing in knownFailures says why.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/podctl/podctl/test/junit"
)

// runtimes are the kinds of hack/runtime, and their names on the page.
var runtimes = []struct{ kind, name string }{{"containerd", "containerd"}, {"crio", "CRI-O"}}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: page RESULTS DOCS")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func write(dir, docs string) error {
	var all []comparison
	for _, r := range runtimes {
		podctl, err := junit.Read(filepath.Join(dir, r.kind, "podctl"))
		if err != nil {
			return err
		}
		kubelet, err := junit.Read(filepath.Join(dir, r.kind, "kubelet"))
		if err != nil {
			return err
		}
		if len(podctl)+len(kubelet) > 0 {
			all = append(all, compare(r.name, podctl, kubelet))
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no results: run make conformance", dir)
	}
	if err := os.WriteFile(filepath.Join(docs, "conformance.md"), []byte(render(all)), 0o644); err != nil {
		return err
	}
	var unexplained []error
	for _, c := range all {
		for _, s := range c.specs {
			if s.unexplained() {
				unexplained = append(unexplained, fmt.Errorf("%s: no reason is known: %s: %s", c.runtime, s.name, firstLine(s.podctl.Why)))
			}
		}
	}
	return errors.Join(unexplained...)
}
