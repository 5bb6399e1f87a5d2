// Command testlog reads `go test -json` and prints what a person wants to know:
// a line per package as `go test` prints it, every skipped test with its
// reason, everything that a failed test wrote, and the totals.
//
//	go test -json ./... | testlog
//
// It exits 1 if a test or package failed, or if there was none.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

func main() {
	failed, err := run(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) (failed bool, err error) {
	log := newLog(out)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			log.line(line)
		}
		if err == io.EOF {
			return log.end(), nil
		}
		if err != nil {
			return true, fmt.Errorf("read: %w", err)
		}
	}
}
