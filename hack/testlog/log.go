package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is what `go test -json` prints a line: see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// test names one test of one package; the package itself has no name.
type test struct{ pkg, name string }

// log keeps what a test wrote until it is known how it ended.
type log struct {
	out     io.Writer
	written map[test][]string
	parents map[test]bool // have subtests: only those count
	ended   map[string][]test
	broken  int // packages that failed
}

func newLog(out io.Writer) *log {
	return &log{out: out, written: map[test][]string{}, parents: map[test]bool{}, ended: map[string][]test{}}
}

func (l *log) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(l.out, "%s", line) // not of go test: show it
		return
	}
	id := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(l.out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			l.parents[test{e.Package, e.Test[:i]}] = true
		}
	case "output":
		l.output(id, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			l.packageEnded(e)
		} else {
			l.testEnded(id, e.Action)
		}
	}
}

// output keeps a line, but shows at once how a package ended.
func (l *log) output(id test, text string) {
	if id.name == "" && (strings.HasPrefix(text, "ok  \t") || strings.HasPrefix(text, "FAIL\t")) {
		fmt.Fprint(l.out, text)
		return
	}
	l.written[id] = append(l.written[id], text)
}

func (l *log) testEnded(id test, action string) {
	switch action {
	case "fail":
		l.show(id)
	case "skip":
		fmt.Fprintf(l.out, "SKIP\t%s %s: %s\n", id.pkg, id.name, reason(l.written[id]))
	}
	l.ended[action] = append(l.ended[action], id)
	delete(l.written, id)
}

// packageEnded shows, if the package failed, what it wrote outside of tests
// and what the tests wrote that never ended, as after a panic or a timeout.
func (l *log) packageEnded(e event) {
	if e.Action == "fail" {
		l.broken++
	}
	for id := range l.written {
		if id.pkg != e.Package {
			continue
		}
		if e.Action == "fail" {
			l.show(id)
		}
		delete(l.written, id)
	}
}

func (l *log) show(id test) {
	for _, text := range l.written[id] {
		if !strings.HasPrefix(text, "=== ") && text != "FAIL\n" {
			fmt.Fprint(l.out, text)
		}
	}
}

// end prints the totals and reports whether anything failed.
func (l *log) end() bool {
	passed, failed, skipped := l.count("pass"), l.count("fail"), l.count("skip")
	fmt.Fprintf(l.out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed > 0 || l.broken > 0 || passed+failed+skipped == 0
}

func (l *log) count(action string) int {
	return len(slices.DeleteFunc(l.ended[action], func(id test) bool { return l.parents[id] }))
}

// reason finds what the test said when it skipped, "file.go:12: reason".
func reason(written []string) string {
	var said []string
	for _, text := range written {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
