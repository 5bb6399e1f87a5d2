package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// outcome is how a spec ended.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	skipped outcome = "skipped"
)

// result is one run of a spec.
type result struct {
	outcome outcome
	why     string // of a failure or skip, in the spec's words
}

// results are those of one side, by the full name of the spec.
type results map[string]result

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

// readResults reads the JUnit files of a directory. The last file by name that has a
// result of a spec counts; specs that were not chosen have none.
func readResults(dir string) (results, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	all := results{}
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
func (c testCase) result() (r result, chosen bool) {
	failure := cmp.Or(c.Failure, c.Error)
	switch {
	case failure != nil:
		return result{failed, failure.Message}, !strings.HasPrefix(failure.Message, interrupted)
	case c.Skipped != nil:
		why, isReason := strings.CutPrefix(c.Skipped.Message, "skipped - ")
		return result{skipped, why}, isReason && why != ""
	}
	return result{outcome: passed}, true
}
