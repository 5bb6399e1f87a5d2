// Command critest runs Kubernetes' critest against podctl sim, and writes docs/critest.md.
//
//	go -C test run ./critest PODCTL DOCS
//
// It needs root, as critest does. Exit code 1: a spec fails, and nothing in knownFailures
// says why, or one of those passes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// module has critest. It cannot be installed, because it is a test.
const module = "sigs.k8s.io/cri-tools@v1.37.0"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: critest PODCTL DOCS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "critest:", err)
		os.Exit(1)
	}
}

func run(podctl, docs string) error {
	dir, err := os.MkdirTemp("", "podctl-critest")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	critest, results := filepath.Join(dir, "critest"), filepath.Join(dir, "results.xml")
	if err := build(critest); err != nil {
		return err
	}
	endpoint, stop, err := simulate(podctl, filepath.Join(dir, "cri.sock"))
	if err != nil {
		return err
	}
	specs := exec.Command(critest, "--runtime-endpoint", endpoint, "--image-endpoint", endpoint, "--ginkgo.no-color", "--ginkgo.junit-report", results)
	specs.Dir = dir
	log, failed := specs.CombinedOutput() // specs fail, which the results say
	if err := stop(); err != nil {
		return err
	}
	text, err := os.ReadFile(results)
	if err != nil {
		return fmt.Errorf("%w, %w: %s", failed, err, log[max(0, len(log)-2000):])
	}
	all, err := readResults(text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(docs, "critest.md"), []byte(page(all)), 0o644); err != nil {
		return err
	}
	return unexplained(all)
}

// build builds critest in the module's own directory.
func build(to string) error {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return fmt.Errorf("download %s: %w", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-c", "-trimpath", "-o", to, "./cmd/critest")
	cmd.Dir, cmd.Env, cmd.Stderr = found.Dir, append(os.Environ(), "GOWORK=off", "GOFLAGS="), os.Stderr
	return cmd.Run()
}

// simulate starts podctl sim. Its images are those of critest, and a pull takes a moment.
func simulate(podctl, socket string) (endpoint string, stop func() error, err error) {
	cmd := exec.Command(podctl, "sim", "--listen", socket, "--images", "critest/images.yaml", "--delay", "PullImage=20ms")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error { return errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("start %s sim: %w", podctl, err), stop())
	}
	return strings.TrimSpace(line), stop, nil
}
