// Package junit reads the results of ginkgo's specs.
package junit

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Outcome is how a spec ended.
type Outcome string

// What a spec can end with.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is one run of a spec. The zero value is one that did not run.
type Result struct {
	Outcome Outcome
	Why     string // of a failure or skip, in the spec's words
}

// Results are those of a run, by the full name of the spec.
type Results map[string]Result

type suites struct {
	Cases []testCase `xml:"testsuite>testcase"`
}

type testCase struct {
	Name    string  `xml:"name,attr"`
	Failure *report `xml:"failure"`
	Error   *report `xml:"error"`
	Skipped *report `xml:"skipped"`
}

type report struct {
	Message string `xml:"message,attr"`
}

// Read reads the JUnit files of a directory. The last file by name that has a
// result of a spec counts; specs that were not chosen have none.
func Read(dir string) (Results, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	all := Results{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var read suites
		if err := xml.Unmarshal(text, &read); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for _, c := range read.Cases {
			name, isSpec := strings.CutPrefix(c.Name, "[It] ")
			if r, chosen := c.result(); isSpec && chosen {
				all[name] = r
			}
		}
	}
	return all, nil
}

// interrupted is the failure of a spec that was running when the run was interrupted.
const interrupted = "Interrupted by User"

// result returns the result, and whether the spec was chosen at all, and ran to its end: a
// spec that skips itself says why.
func (c testCase) result() (r Result, chosen bool) {
	failure := cmp.Or(c.Failure, c.Error)
	switch {
	case failure != nil:
		return Result{Failed, failure.Message}, !strings.HasPrefix(failure.Message, interrupted)
	case c.Skipped != nil:
		why, isReason := strings.CutPrefix(c.Skipped.Message, "skipped - ")
		return Result{Skipped, why}, isReason && why != ""
	}
	return Result{Outcome: Passed}, true
}
