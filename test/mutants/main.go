// Command mutants counts how many seeds show that podctl is broken: it breaks it in one way after
// the other, without a change of the tree (go build -overlay), and plays seeds until one fails.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	most = flag.Int("seeds", 500, "seeds to play at most, of a mutant")
	only = flag.String("only", "", "only mutants whose name matches this regular expression, without writing the page")
	into = flag.String("build", "", "instead, build a podctl with each mistake that test/twin has to show into this directory")
)

const (
	page  = "docs/seeds.md"
	begin = "<!-- mutants: make mutants -->\n"
	end   = "<!-- end of mutants -->\n"
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *into != "" {
		return buildUnlikeKubelet(root)
	}
	var rows strings.Builder
	caught, played := 0, 0
	for _, m := range mutants {
		if !chosen.MatchString(m.name) {
			continue
		}
		played++
		r, err := m.count(root)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if r.caught() {
			caught++
		}
		row := fmt.Sprintf("| %s | %s | `%s` | %s |\n", m.name, cmp.Or(m.bug, "-"), m.file, r)
		fmt.Print(row)
		rows.WriteString(row)
	}
	fmt.Printf("%d of %d caught\n", caught, played)
	if *only != "" {
		return nil
	}
	text := fmt.Sprintf("%d of %d mutants are caught by the first %d seeds:\n\n| mutant | known bug | in | seeds until it is caught, and by which invariant | in a minute of plays |\n|---|---|---|---|---|\n%s",
		caught, played, *most, rows.String())
	return replace(filepath.Join(root, page), text)
}

// buildUnlikeKubelet builds a podctl with each of those mistakes, in a file of its name.
func buildUnlikeKubelet(root string) error {
	into, err := filepath.Abs(*into)
	if err != nil {
		return err
	}
	for _, m := range unlikeKubelet {
		if err := m.build(root, "build", "-o", filepath.Join(into, m.name), "./cmd/podctl"); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// build runs a go command that builds something with the mutant.
func (m mutant) build(root string, verb string, args ...string) error {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return err
	}
	build := exec.Command("go", append([]string{verb, "-overlay", overlay}, args...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// moduleRoot is the directory of podctl's module, above this one's.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/podctl/podctl").Output()
	return strings.TrimSpace(string(out)), err
}

// result is after how many seeds a mutant was caught, and by which invariant.
type result struct {
	seeds     string
	invariant string // "" if it was not
	// again is how often the history of its bug, or else the seed that caught it, failed in a minute, "" without
	// either; what is which of them.
	again, what string
}

func (r result) caught() bool { return r.invariant != "" }

func (r result) String() string {
	first, again := "not by "+r.seeds, "-"
	if r.caught() {
		first = r.seeds + ": " + r.invariant
	}
	if r.again != "" {
		again = r.what + ", " + r.again
	}
	return first + " | " + again
}

var (
	seedsLine   = regexp.MustCompile(`(\d+) seeds from \d+ in`)
	failureLine = regexp.MustCompile(`seed (\d+): ([^:]+):`)
	againLine   = regexp.MustCompile(`fails in (\d+ of \d+) plays`)
)

// count builds the tests of the node with the mutant and plays seeds until one fails. The history of the bug, or
// else that seed, is then played again for a minute.
func (m mutant) count(root string) (result, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "node.test")
	if err := m.build(root, "test", "-c", "-vet=off", "-o", program, "./internal/node"); err != nil {
		return result{}, err
	}
	play := func(args ...string) ([]byte, error) {
		cmd := exec.Command(program, append([]string{"-test.run=^TestSeeds$", "-test.v", "-test.timeout=0"}, args...)...)
		cmd.Dir = filepath.Join(root, "internal/node")
		return cmd.CombinedOutput()
	}
	out, err := play(fmt.Sprint("-seeds=", *most), "-seeds.shrink=false")
	seeds := seedsLine.FindSubmatch(out)
	if seeds == nil {
		return result{}, fmt.Errorf("no seed was played: %v\n%s", err, out)
	}
	r, what := result{seeds: string(seeds[1])}, ""
	if failed := failureLine.FindSubmatch(out); err != nil && failed != nil {
		what, r.what, r.invariant = "-seed="+string(failed[1]), "that seed", string(failed[2])
	}
	if file := m.history(root); file != "" {
		what, r.what = "-history="+file, "its history"
	}
	if what == "" {
		return r, nil
	}
	out, err = play(what, "-seeds.for=1m")
	again := againLine.FindSubmatch(out)
	if again == nil {
		return result{}, fmt.Errorf("%s was not played: %v\n%s", what, err, out)
	}
	r.again = string(again[1])
	return r, nil
}

// history is the file of the history that shows the bug, "" if there is none.
func (m mutant) history(root string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(m.bug, ownBug), "#", "-")
	file := filepath.Join(root, "internal/node/testdata/histories", name+".txt")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// overlay writes the file with the mistake, and returns the JSON file that has it replace the original (go build -overlay).
func (m mutant) overlay(root, dir string) (string, error) {
	file := filepath.Join(root, m.file)
	text, err := m.apply(root)
	if err != nil {
		return "", err
	}
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// apply returns the file with the mistake. What it replaces must be there once.
func (m mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, not once", m.file, m.old, n)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// replace writes the text between the marks of the page.
func replace(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, _ := strings.Cut(string(old), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return fmt.Errorf("%s has no marks %q, %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+text+end+after), 0o600)
}
