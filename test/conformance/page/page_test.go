package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden is what write makes of testdata.
var golden = filepath.Join("testdata", "conformance.md")

func TestPage(t *testing.T) {
	replace(t, []known{{regexp.MustCompile("should fail here"), regexp.MustCompile("^wrong"), "modes are different", "the mode of"}})
	docs := t.TempDir()
	err := write("testdata", docs)
	want := "containerd: no reason is known: [sig-node] Pods should run [NodeConformance] [Conformance] [sig-node, NodeConformance, Conformance]: the second run counts"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	got, err := os.ReadFile(filepath.Join(docs, "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), string(got)); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestNoResultsAreAnError(t *testing.T) {
	if err := write(t.TempDir(), t.TempDir()); err == nil {
		t.Error("a page of nothing")
	}
}

// TestKnownFailuresNameRows: each row that a reason names is one of the page of differences.
func TestKnownFailuresNameRows(t *testing.T) {
	page, err := os.ReadFile("../../../docs/kubelet-differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range knownFailures {
		if k.row != "" && !strings.Contains(string(page), "\n| "+k.row) {
			t.Errorf("no row of docs/kubelet-differences.md begins with %q", k.row)
		}
	}
}

func replace(t *testing.T, all []known) {
	before := knownFailures
	knownFailures = all
	t.Cleanup(func() { knownFailures = before })
}
