package sim

import (
	"fmt"
	"maps"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// redirect points the shell's output elsewhere.
func (s *shell) redirect(r *syntax.Redirect) {
	target := s.text(r.Word)
	var to func(string)
	switch {
	case r.Op == syntax.RdrIn:
		return
	case r.Op == syntax.DplOut && target == "2":
		to = s.err
	case r.Op == syntax.DplOut:
		to = s.out
	default:
		s.changeFiles(func(files map[string]string) {
			if r.Op == syntax.RdrOut {
				files[target] = ""
			}
		})
		to = func(text string) {
			s.changeFiles(func(files map[string]string) { files[target] += text })
		}
	}
	if r.N != nil && r.N.Value == "2" {
		s.err = to
	} else {
		s.out = to
	}
}

func (s *shell) changeFiles(change func(map[string]string)) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	change(s.p.files)
}

// file is what little there is of files.
func (s *shell) file(name string, args []string) {
	s.p.mu.Lock()
	files := maps.Clone(s.p.files)
	s.p.mu.Unlock()
	switch name {
	case "touch":
		s.changeFiles(func(files map[string]string) {
			for _, f := range args {
				files[f] += ""
			}
		})
	case "rm":
		s.changeFiles(func(files map[string]string) {
			for _, f := range args {
				delete(files, f)
			}
		})
	case "cat":
		for _, f := range args {
			text, ok := files[f]
			if !ok {
				s.err(fmt.Sprintf("cat: can't open '%s': No such file or directory\n", f))
				s.status = 1
				continue
			}
			s.out(text)
		}
	default:
		s.status = boolStatus(testFiles(files, args))
	}
}

// testFiles is test(1), as far as scripts in examples use it.
func testFiles(files map[string]string, args []string) bool {
	if n := len(args); n > 0 && args[n-1] == "]" {
		args = args[:n-1]
	}
	switch {
	case len(args) > 1 && args[0] == "!":
		return !testFiles(files, args[1:])
	case len(args) == 1:
		return args[0] != ""
	case len(args) == 2:
		_, exists := files[args[1]]
		switch args[0] {
		case "-n":
			return args[1] != ""
		case "-z":
			return args[1] == ""
		}
		return exists
	case len(args) == 3:
		a, _ := strconv.Atoi(args[0])
		b, _ := strconv.Atoi(args[2])
		switch args[1] {
		case "=", "==":
			return args[0] == args[2]
		case "!=":
			return args[0] != args[2]
		case "-eq":
			return a == b
		case "-ne":
			return a != b
		case "-lt":
			return a < b
		case "-le":
			return a <= b
		case "-gt":
			return a > b
		case "-ge":
			return a >= b
		}
	}
	return false
}
