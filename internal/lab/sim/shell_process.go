package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"mvdan.cc/sh/v3/syntax"
)

// subshellOf runs a shell: the script behind -c, or the commands of its input.
func (s *shell) subshellOf(args []string) {
	sub := s.subshell()
	if sub.depth++; sub.depth > depthLimit {
		s.err("sh: shells are nested too deep\n")
		s.status = statusSyntax
		return
	}
	if len(args) == 0 {
		sub.readCommands("")
	} else if script, err := parseCommand(append([]string{"sh"}, args...)); err != nil {
		s.err(notParsed(err))
		sub.status = statusSyntax
	} else if script != nil {
		sub.run(script.Stmts)
	}
	s.status = sub.status
}

// readCommands runs commands as they are typed, until the input ends or one leaves the shell.
func (s *shell) readCommands(prompt string) {
	s.out(prompt)
	for script := ""; ; {
		line, ok := s.line()
		if !ok {
			return
		}
		script += line + "\n"
		f, err := parse(script)
		if syntax.IsIncomplete(err) {
			continue
		}
		script = ""
		if err != nil {
			s.err(notParsed(err))
			s.status = statusSyntax
		} else if s.run(f.Stmts) == leaveShell {
			return
		}
		s.out(prompt)
	}
}

// head passes the first lines of the input on: 10, or as many as "-n 3" or "-3" says.
func (s *shell) head(args []string) {
	lines := 10
	if n, err := strconv.Atoi(strings.TrimLeft(strings.Join(args, ""), "-n")); err == nil {
		lines = n
	}
	for range lines {
		text, ok := s.line()
		if !ok {
			return
		}
		s.out(text + "\n")
	}
}

// id prints who the process runs as.
func (s *shell) id(options string) {
	u := s.p.user
	groups := u.GetSupplementalGroups()
	if !slices.Contains(groups, u.GetGid()) {
		groups = append([]int64{u.GetGid()}, groups...)
	}
	switch options {
	case "-u":
		s.out(fmt.Sprintln(u.GetUid()))
	case "-g":
		s.out(fmt.Sprintln(u.GetGid()))
	case "-nu", "-un":
		s.out(nameOf(u.GetUid()) + "\n")
	case "-G":
		s.out(strings.Trim(fmt.Sprint(groups), "[]") + "\n")
	default:
		s.out(fmt.Sprintf("uid=%d(%s) gid=%d groups=%s\n", u.GetUid(), nameOf(u.GetUid()), u.GetGid(), strings.Trim(strings.ReplaceAll(fmt.Sprint(groups), " ", ","), "[]")))
	}
}

// kill signals the first process; as the kernel has it, that cannot be killed from inside.
func (s *shell) kill(args []string) {
	name := "SIGTERM"
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, args = signalName(args[0][1:]), args[1:]
	}
	if slices.Equal(args, []string{"1"}) && (name != "SIGKILL" || !s.p.ownPIDs) {
		s.p.signal(name)
	}
}

// signalName is a signal's name, of a name with or without SIG, or a number.
func signalName(text string) string {
	for name, number := range signalNumbers {
		if strconv.Itoa(number) == text {
			return name
		}
	}
	return "SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG")
}

// grow takes memory: "grow SIZE" at once, "grow SIZE DURATION" in ten steps, and
// "dd bs=SIZE" that of its buffer.
func (s *shell) grow(args []string) {
	steps, size, takes := 1, "", time.Duration(0)
	for i, a := range args {
		if text, ok := strings.CutPrefix(a, "bs="); ok || i == 0 && !strings.Contains(a, "=") {
			size = text
		} else if d, err := time.ParseDuration(a); err == nil {
			steps, takes = 10, d
		}
	}
	bytes, err := resource.ParseQuantity(size)
	if err != nil {
		s.err(fmt.Sprintf("grow: %q is no size, for example 20Mi\n", size))
		s.status = 1
		return
	}
	for range steps {
		s.p.grow(uint64(max(0, bytes.Value())) / uint64(steps))
		if takes > 0 {
			pause(s.ctx, takes/time.Duration(steps))
		}
	}
}

// seq prints the numbers from the first, or 1, to the last.
func (s *shell) seq(args []string) {
	first, last := 1, 0
	if len(args) > 0 {
		last, _ = strconv.Atoi(args[len(args)-1])
	}
	if len(args) > 1 {
		first, _ = strconv.Atoi(args[0])
	}
	for n := first; n <= last && s.ctx.Err() == nil; n++ {
		s.out(fmt.Sprintln(n))
	}
}
