package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// redirect points the shell's input and output elsewhere. It reports false, and says why,
// where a file cannot be opened.
func (s *shell) redirect(all []*syntax.Redirect) bool {
	for _, r := range all {
		target := s.text(r.Word)
		var to func(string)
		switch {
		case r.Op == syntax.RdrIn:
			text, err := s.read(target)
			if err != nil {
				return s.failed("sh: can't open %s: %s", target, err)
			}
			s.in = strings.NewReader(text)
			continue
		case r.Op == syntax.DplOut && target == "2":
			to = s.err
		case r.Op == syntax.DplOut:
			to = s.out
		case target == "/dev/null":
			to = func(string) {}
		default:
			if err := s.p.fs.write(s.abs(target), "", r.Op != syntax.RdrOut); err != nil {
				return s.failed("sh: can't create %s: %s", target, err)
			}
			to = func(text string) { _ = s.p.fs.write(s.abs(target), text, true) }
		}
		if r.N != nil && r.N.Value == "2" {
			s.err = to
		} else {
			s.out = to
		}
	}
	return true
}

// abs is the path of a name in the shell's directory.
func (s *shell) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(s.dir, name)
}

func (s *shell) read(name string) (string, error) {
	if name == "/dev/null" {
		return "", nil
	}
	return s.p.fs.read(s.abs(name))
}

// failed says that a file could not be used, as busybox does, and reports false.
func (s *shell) failed(format, name string, err error) bool {
	text := []rune(err.Error())
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		text[0] = unicode.ToUpper(text[0])
	}
	s.err(fmt.Sprintf(format+"\n", name, string(text)))
	s.status = 1
	return false
}

// file is what little there is of files.
func (s *shell) file(name string, args []string) {
	names := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	switch name {
	case "cd":
		s.dir = s.abs(strings.Join(append(names, "/root")[:1], ""))
	case "touch":
		for _, f := range names {
			if err := s.p.fs.write(s.abs(f), "", true); err != nil {
				s.failed("touch: %s: %s", f, err)
			}
		}
	case "rm":
		for _, f := range names {
			if err := s.p.fs.remove(s.abs(f)); err != nil && !slices.Contains(args, "-f") && !slices.Contains(args, "-rf") {
				s.failed("rm: can't remove '%s': %s", f, err)
			}
		}
	case "ls":
		s.ls(append(names, s.dir)[:max(1, len(names))])
	case "cat":
		s.eachInput(names, "cat: can't open '%s': %s", func(r io.Reader) { _, _ = io.Copy(writerFunc(s.out), r) })
	default:
		s.status = boolStatus(s.test(args))
	}
}

func (s *shell) ls(names []string) {
	for _, f := range names {
		if _, err := s.read(f); err == nil {
			s.out(f + "\n")
		} else if s.p.fs.isDir(s.abs(f)) {
			for _, name := range s.p.fs.list(s.abs(f)) {
				s.out(name + "\n")
			}
		} else {
			s.failed("ls: %s: %s", f, err)
		}
	}
}

// eachInput calls f with the files, or with the input without any.
func (s *shell) eachInput(names []string, complaint string, f func(io.Reader)) {
	if len(names) == 0 && s.in != nil {
		f(s.in)
	}
	for _, name := range names {
		text, err := s.read(name)
		if err != nil {
			s.failed(complaint, name, err)
			continue
		}
		f(strings.NewReader(text))
	}
}

type writerFunc func(string)

func (w writerFunc) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// grep prints the lines that contain a text, or with -v the others.
func (s *shell) grep(args []string) {
	quiet, invert := false, false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		quiet, invert = quiet || strings.Contains(args[0], "q"), invert || strings.Contains(args[0], "v")
		args = args[1:]
	}
	if len(args) == 0 {
		s.status = 2
		return
	}
	s.status = 1
	s.eachInput(args[1:], "grep: %s: %s", func(r io.Reader) {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if strings.Contains(lines.Text(), args[0]) != invert {
				s.status = 0
				if quiet {
					return
				}
				s.out(lines.Text() + "\n")
			}
		}
	})
}

// line reads a line of the input, at most fileLimit, a byte at a time: what follows is for others.
func (s *shell) line() (text string, ok bool) {
	var b strings.Builder
	for one := make([]byte, 1); s.in != nil && b.Len() < fileLimit; {
		if _, err := io.ReadFull(s.in, one); err != nil {
			break
		} else if one[0] == '\n' {
			return b.String(), true
		}
		b.WriteByte(one[0])
	}
	return b.String(), b.Len() > 0
}

// test is test(1), as far as scripts in examples use it.
func (s *shell) test(args []string) bool {
	if n := len(args); n > 0 && args[n-1] == "]" {
		args = args[:n-1]
	}
	switch {
	case len(args) > 1 && args[0] == "!":
		return !s.test(args[1:])
	case len(args) == 1:
		return args[0] != ""
	case len(args) == 2:
		switch args[0] {
		case "-n":
			return args[1] != ""
		case "-z":
			return args[1] == ""
		}
		text, err := s.read(args[1])
		dir := s.p.fs.isDir(s.abs(args[1]))
		switch args[0] {
		case "-d":
			return dir
		case "-f":
			return err == nil
		case "-s":
			return text != "" || dir
		}
		return err == nil || dir
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
