package sim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// call runs a simple command.
func (s *shell) call(c *syntax.CallExpr) control {
	s.assign(c.Assigns)
	argv := s.fields(c.Args)
	if len(argv) == 0 {
		return goOn
	}
	return s.builtin(path.Base(argv[0]), argv[1:])
}

func (s *shell) assign(all []*syntax.Assign) {
	for _, a := range all {
		if a.Name != nil && !a.Naked {
			s.vars[a.Name.Value] = s.text(a.Value)
		}
	}
}

// builtin runs what the sim knows. What it does not know runs until the
// container is stopped; by ExecSync it just succeeds.
func (s *shell) builtin(name string, args []string) control {
	s.status = 0
	if s.refused(name, args) {
		return goOn
	}
	switch name {
	case ":", "true", "set", "mkdir", "chmod", "chown", "sync":
	case "false":
		s.status = 1
	case "echo":
		s.echo(args)
	case "printf":
		s.printf(args)
	case "sleep":
		s.sleep(args)
	case "exit":
		s.status = exitStatus(args)
		return leaveShell
	case "exec":
		if len(args) > 0 {
			s.builtin(path.Base(args[0]), args[1:])
			return leaveShell
		}
	case "break":
		return leaveLoop
	case "continue":
		return nextTurn
	case "trap":
		s.trap(args)
	case "wait":
		s.wait()
	case "sh", "ash":
		s.subshellOf(args)
	case "read":
		text, ok := s.line()
		s.status = boolStatus(ok)
		if len(args) > 0 {
			s.vars[args[len(args)-1]] = text
		}
	case "grep":
		s.grep(args)
	case "head":
		s.head(args)
	case "seq":
		s.seq(args)
	case "id":
		s.id(strings.Join(args, ""))
	case "kill":
		s.kill(args)
	case "pidof", "pgrep":
		s.status = 1
		if len(args) > 0 && s.p.ownPIDs && len(s.p.argv) > 0 && path.Base(s.p.argv[0]) == args[0] {
			s.status = 0
			s.out("1\n")
		}
	case "pwd":
		s.out(s.dir + "\n")
	case "dd", "grow":
		s.grow(args)
	case "env", "printenv":
		for _, k := range slices.Sorted(maps.Keys(s.vars)) {
			s.out(k + "=" + s.vars[k] + "\n")
		}
	case "hostname":
		s.out(s.p.hostname + "\n")
	case "date":
		s.out(s.p.clock().UTC().Format(time.UnixDate) + "\n")
	case "cat", "cd", "ls", "touch", "rm", "test", "[":
		s.file(name, args)
	default:
		switch {
		case name == "httpd" && s.p.listens != "":
			s.httpd(args)
		case s.inBackground: // it ignores signals, and ends with its container
			<-s.ctx.Done()
			return leaveShell
		case !s.exec:
			s.p.obey()
			<-s.ctx.Done()
			return leaveShell
		}
	}
	return goOn
}

func exitStatus(args []string) int {
	if len(args) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(args[0])
	return n & 255
}

var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)

func (s *shell) echo(args []string) {
	end, escaped := "\n", false
	for len(args) > 0 && (args[0] == "-n" || args[0] == "-e") {
		if args[0] == "-n" {
			end = ""
		} else {
			escaped = true
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escaped {
		text = escapes.Replace(text)
	}
	s.out(text + end)
}

func (s *shell) printf(args []string) {
	if len(args) == 0 {
		return
	}
	text := escapes.Replace(args[0])
	for _, a := range args[1:] {
		text = strings.NewReplacer("%d", "%s", "%i", "%s").Replace(text)
		text = strings.Replace(text, "%s", a, 1)
	}
	s.out(text)
}

func (s *shell) sleep(args []string) {
	var total time.Duration
	for _, a := range args {
		if a == "infinity" {
			<-s.ctx.Done()
			return
		}
		unit := time.Second
		number := strings.TrimRight(a, "smhd")
		if u, ok := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[a[len(number):]]; ok {
			unit, a = u, number
		}
		f, err := strconv.ParseFloat(a, 64)
		if err != nil {
			s.err(fmt.Sprintf("sleep: invalid number '%s'\n", a))
			s.status = 1
			return
		}
		total += time.Duration(f * float64(unit))
	}
	pause(s.ctx, total)
}

// trap sets what happens at signals; EXIT and the like are not kept.
func (s *shell) trap(args []string) {
	if len(args) < 2 || s.exec {
		return
	}
	t := trap{ignore: args[0] == ""}
	if !t.ignore {
		body, err := parse(args[0])
		if err != nil {
			s.err(fmt.Sprintf("trap: %v\n", err))
			s.status = statusSyntax
			return
		}
		t.body = body
	}
	for _, sig := range args[1:] {
		s.p.setTrap(signalName(sig), t)
	}
}

// wait waits for the background; a signal that is trapped interrupts it.
func (s *shell) wait() {
	var wake <-chan struct{}
	if !s.exec && !s.nested {
		wake = s.p.wake
	}
	for len(s.jobs) > 0 {
		select {
		case <-s.jobs[0]:
			s.jobs = s.jobs[1:]
		case <-wake: // or the rest of a signal already handled
			if s.p.hasPending() {
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}
