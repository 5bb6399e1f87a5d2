//go:build pages

package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the Markdown pages of the repository by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(path, "../")] = string(text)
		}
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	// inTree is a quoted path, perhaps a command with arguments.
	inTree = regexp.MustCompile("`((?:internal|cmd|docs|hack|test|examples|\\.ci)/[^`\\s]*)[^`]*`")
)

// anchors are the fragments that a page's headings can be linked by.
func anchors(page string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		slug := strings.ToLower(notSlug.ReplaceAllString(h[1], ""))
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

func TestPagesLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(l[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, l[1])
			} else if fragment != "" && !slices.Contains(anchors(all[path]), fragment) {
				t.Errorf("%s links to %s, which has no such heading", name, l[1])
			}
		}
	}
}

// The index of a directory of docs is its README.md.
func TestPagesAreInTheirIndex(t *testing.T) {
	all := pages(t)
	for name := range all {
		index := filepath.Join(filepath.Dir(name), "README.md")
		if strings.HasPrefix(name, "docs/") && name != index && !strings.Contains(all[index], "]("+filepath.Base(name)) {
			t.Errorf("%s does not link to %s", index, name)
		}
	}
}

func TestPagesExamplesAreInTheirIndex(t *testing.T) {
	text := pages(t)["examples/README.md"]
	for _, pattern := range []string{"*.yaml", "*/*"} {
		found, err := filepath.Glob(filepath.Join("../examples", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no examples: %v", err)
		}
		for _, path := range found {
			if name := strings.TrimPrefix(path, "../examples/"); !strings.Contains(text, "]("+name+")") {
				t.Errorf("examples/README.md does not link to %s", name)
			}
		}
	}
}

func TestPagesPathsExist(t *testing.T) {
	for name, text := range pages(t) {
		for _, p := range inTree.FindAllStringSubmatch(text, -1) {
			path := strings.TrimSuffix(p[1], "/...")
			if strings.Contains(path, "NAME") || strings.ContainsAny(path, "*<{…") {
				continue // a pattern
			}
			if _, err := os.Stat(filepath.Join("..", path)); err != nil {
				t.Errorf("%s names %s, which does not exist", name, path)
			}
		}
	}
}

// TestPagesArchitectureHasTheDistricts holds the table of the page against the rule that is
// enforced.
func TestPagesArchitectureHasTheDistricts(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range districts {
		want := "–"
		switch {
		case slices.Equal(d.imports, []string{"internal"}):
			want = "all"
		case len(d.imports) > 0:
			want = strings.ReplaceAll(strings.Join(d.imports, ", "), "internal/", "")
		}
		row := regexp.MustCompile("(?m)^\\| `" + d.path + "` \\| [^|]+ \\| " + regexp.QuoteMeta(want) + " \\|$")
		if !row.Match(text) {
			t.Errorf("docs/architecture.md does not say that %s may import %s", d.path, want)
		}
	}
}

// What is listed in the code is listed in the page about it.
func TestPagesListEventsAndChecks(t *testing.T) {
	all := pages(t)
	for _, list := range []struct {
		file, page string
		// name matches the names in the file.
		name *regexp.Regexp
	}{
		{"pod/event/reason.go", "docs/events.md", regexp.MustCompile(`(?m)^\t\w+ += "(\w+)"`)},
		{"pods/doctor/examine.go", "docs/doctor.md", regexp.MustCompile(`(?m)^\t\{"([a-z.-]+)", `)},
	} {
		text, err := os.ReadFile(list.file)
		if err != nil {
			t.Fatal(err)
		}
		found := list.name.FindAllStringSubmatch(string(text), -1)
		if len(found) < 20 {
			t.Errorf("%d names are found in %s", len(found), list.file)
		}
		for _, name := range found {
			group, _, _ := strings.Cut(name[1], ".")
			if !strings.Contains(all[list.page], "`"+name[1]) && !strings.Contains(all[list.page], "`"+group+".*`") {
				t.Errorf("%s does not list %s of %s", list.page, name[1], list.file)
			}
		}
	}
}
