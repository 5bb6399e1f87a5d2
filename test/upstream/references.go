package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// reference is a place in podctl that names a file of Kubernetes, and perhaps what is
// declared there.
type reference struct {
	File  string // "pkg/kubelet/pod_workers.go"
	Name  string // "managePodLoop", "" for the file as a whole
	Where string // "internal/worker/loop.go:17"
}

// fileOf matches a file of Kubernetes, with what is said to be in it.
var fileOf = regexp.MustCompile("((?:[A-Za-z_][A-Za-z0-9_]*(?:, | and ))*[A-Za-z_][A-Za-z0-9_]*)?`?(?: in `?| of `?|)((?:pkg|plugin|cmd)/[a-z][A-Za-z0-9_/.-]*\\.go)\\b")

// readReferences returns the references in the comments and pages that git knows.
func readReferences(root string) ([]reference, error) {
	cmd := exec.Command("git", "ls-files", "*.go", "*.md")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var all []reference
	for path := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, ".md") {
			for i, line := range strings.Split(string(text), "\n") {
				all = append(all, referencesIn(line, fmt.Sprintf("%s:%d", path, i+1))...)
			}
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, group := range file.Comments {
			all = append(all, referencesIn(textOf(group), fmt.Sprintf("%s:%d", path, files.Position(group.Pos()).Line))...)
		}
	}
	return all, nil
}

// textOf is a comment in one line.
func textOf(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}

// referencesIn returns what a text names. A word without a capital that stands before
// the file is English, and names nothing.
func referencesIn(text, where string) []reference {
	var all []reference
	for _, at := range fileOf.FindAllStringSubmatchIndex(text, -1) {
		before, name, file := text[:at[4]], "", text[at[4]:at[5]]
		if at[2] >= 0 {
			name = text[at[2]:at[3]]
		}
		if strings.HasSuffix(before, "/") || strings.HasPrefix(file, "cmd/podctl/") {
			continue // of another module
		}
		found := false
		if strings.HasSuffix(strings.TrimSuffix(before, "`"), " in ") {
			for _, word := range strings.FieldsFunc(strings.ReplaceAll(name, " and ", ","), func(r rune) bool { return r == ',' || r == ' ' }) {
				if isName(word) {
					all, found = append(all, reference{file, word, where}), true
				}
			}
		}
		if !found {
			all = append(all, reference{file, "", where})
		}
	}
	return all
}

// isName reports whether a word is a name in Go rather than an English word: it has a
// capital after its first letter, as every name of more than one word.
func isName(word string) bool {
	return len(word) > 1 && strings.ToLower(word[1:]) != word[1:]
}
