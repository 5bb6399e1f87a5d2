//go:build pages

package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesServicesHaveEverySpec: docs/services-conformance.md has a row for each spec of Services and DNS, those of
// the conformance suite in bold, and the tests that it names exist.
func TestPagesServicesHaveEverySpec(t *testing.T) {
	root := ".."
	content, err := os.ReadFile(filepath.Join(root, "docs", "services-conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	source, err := exec.Command("go", "-C", filepath.Join(root, "test"), "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	spec := regexp.MustCompile(`(?m)^\s+(framework\.Conformance|framework\.|ginkgo\.|f\.)It\("(.*?)"`)
	for _, file := range []string{"dns.go", "service.go", "endpointslice.go", "endpointslicemirroring.go"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(source)), "test", "e2e", "network", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spec.FindAllStringSubmatch(string(text), -1) {
			row := strings.TrimSuffix(m[2], " [LinuxOnly]")
			if strings.HasPrefix(m[1], "framework.Conformance") {
				row = "**" + row + "**"
			}
			if !strings.Contains(page, "\n| "+row+" |") {
				t.Errorf("%s: no row %q", file, row)
			}
		}
	}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(page, -1) {
		if err := exec.Command("git", "-C", root, "grep", "-q", "^func "+name[1]+"(t ", "--", "*_test.go").Run(); err != nil {
			t.Errorf("no test %s: %v", name[1], err)
		}
	}
}
