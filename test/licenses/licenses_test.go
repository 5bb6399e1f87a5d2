package licenses

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// allowed are the licences that dependencies may have, by SPDX name.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// recognized is the percentage of a licence file that must be the text of licences.
const recognized = 75

// licenceFile matches the names of licence files; those of documentation, which is not
// part of podctl, are not read.
var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-].*)?$`)
	ofDocs      = regexp.MustCompile(`(?i)[.-]docs?$`)
)

// TestDependenciesHaveAllowedLicences reads the licences of all modules of which a
// package is in podctl, on each platform.
func TestDependenciesHaveAllowedLicences(t *testing.T) {
	dirs := map[string]string{}
	for _, platform := range []string{"linux/amd64", "darwin/arm64"} {
		maps.Copy(dirs, modules(t, platform))
	}
	if len(dirs) < 10 {
		t.Fatalf("podctl has %d dependencies: they were not listed", len(dirs))
	}
	count := map[string]int{}
	for _, module := range slices.Sorted(maps.Keys(dirs)) {
		found, err := licencesOf(dirs[module])
		if err != nil {
			t.Errorf("%s: %v", module, err)
		}
		for _, l := range found {
			if count[l]++; !slices.Contains(allowed, l) {
				t.Errorf("%s: its licence is %s, which is none of %v", module, l, allowed)
			}
		}
	}
	t.Logf("%d modules: %v", len(dirs), count)
}

// modules returns the directories of the modules that podctl is built of, by their
// path and version.
func modules(t *testing.T, platform string) map[string]string {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/podctl")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("list the dependencies: %v\n%s", err, e.Stderr)
		}
		t.Fatalf("list the dependencies: %v", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if module, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			dirs[module] = dir
		}
	}
	return dirs
}

// licencesOf returns the licences of the files in a module's root.
func licencesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || ofDocs.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		cover := licensecheck.Scan(text)
		if cover.Percent < recognized {
			return nil, fmt.Errorf("%.0f %% of %s is the text of a known licence", cover.Percent, e.Name())
		}
		for _, m := range cover.Match {
			found[m.ID] = true
		}
	}
	if len(found) == 0 {
		return nil, errors.New("it has no licence file")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func TestUnknownLicenceIsAnError(t *testing.T) {
	for name, text := range map[string]string{"LICENSE": "Ask the author.", "README": "no licence file"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, err := licencesOf(dir); err == nil {
			t.Errorf("%s with %q: licences %v", name, text, found)
		}
	}
}
