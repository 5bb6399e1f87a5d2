// Command upstream compares what podctl answers to in the source of Kubernetes
// with another version of it.
//
//	upstream            fails where a comment or a page names a file, or something
//	                    declared in it, that the followed version does not have
//	upstream -list      prints what is named: FILE NAME WHERE, in columns
//	upstream VERSION    prints what is named and changed since, with the differences
//
// The list is made of the comments and pages themselves: "(computePodActions in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go)".
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const kubernetes = "k8s.io/kubernetes"

func main() {
	list := flag.Bool("list", false, "print what is named")
	root := flag.String("C", ".", "the `directory` of the repository")
	flag.Parse()
	if err := run(*root, *list, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func run(root string, list bool, version string) error {
	all, err := readReferences(root)
	if err != nil {
		return err
	}
	if list {
		for _, r := range all {
			fmt.Println(r.File, cmp.Or(r.Name, "-"), r.Where)
		}
		return nil
	}
	followed, err := sourceOf("")
	if err != nil {
		return err
	}
	if version == "" {
		return check(all, followed)
	}
	next, err := sourceOf(version)
	if err != nil {
		return err
	}
	return compare(all, followed, next)
}

// check returns an error for each reference to what is not there.
func check(all []reference, followed *tree) error {
	var errs []error
	for _, r := range all {
		if _, err := followed.text(r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Where, err))
		}
	}
	return errors.Join(errs...)
}

// compare prints what changed, once each, with all places that name it.
func compare(all []reference, followed, next *tree) error {
	named := map[reference][]string{}
	for _, r := range all {
		key := reference{File: r.File, Name: r.Name}
		named[key] = append(named[key], r.Where)
	}
	keys := slices.SortedFunc(maps.Keys(named), func(a, b reference) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name)) })
	same := 0
	for _, r := range keys {
		changed, err := difference(r, followed, next)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", named[r][0], err)
		case changed == "":
			same++
		default:
			fmt.Printf("\n%s %s\n  named in %s\n%s", r.File, r.Name, strings.Join(named[r], ", "), changed)
		}
	}
	fmt.Printf("\n%d of %d are the same\n", same, len(keys))
	return nil
}

// difference is how what a reference names differs, "" if it does not. Of a file as a
// whole it is the names of the declarations.
func difference(r reference, followed, next *tree) (string, error) {
	before, err := followed.text(r)
	if err != nil {
		return "", err
	}
	after, err := next.text(r)
	if err != nil {
		return fmt.Sprintf("%v\n", err), nil
	}
	if before == after || r.Name != "" {
		return diff(before, after)
	}
	var changed []string
	was, is := followed.files[r.File], next.files[r.File]
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if name != "" && was[name] != is[name] {
			changed = append(changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, known := was[name]; !known {
			changed = append(changed, "+"+name)
		}
	}
	return "  changed: " + strings.Join(changed, " ") + "\n", nil
}

// diff returns a unified diff without its header.
func diff(before, after string) (string, error) {
	if before == after {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "upstream")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"before": before, "after": after} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("diff", "-u", "before", "after")
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() > 1) {
		return "", err
	}
	_, text, _ := strings.Cut(string(out), "\n@@")
	return "@@" + text, nil
}

// sourceOf returns the source of Kubernetes: of the version that go.mod requires, or
// of another one, which is downloaded.
func sourceOf(version string) (*tree, error) {
	module := kubernetes
	if version != "" {
		module += "@" + version
	}
	args := []string{"list", "-m", "-json", module}
	if version != "" {
		args = []string{"mod", "download", "-json", module}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	var m struct{ Dir, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, err
	}
	if m.Dir == "" {
		return nil, fmt.Errorf("%s is not in the module cache: run go mod download %s", module, module)
	}
	return &tree{dir: m.Dir, files: map[string]map[string]string{}, inside: map[string]map[string]string{}}, nil
}
