package sim

import (
	"cmp"
	"slices"
	"time"
)

// Script says what is special about a container. The zero value is a container
// that runs its command.
type Script struct {
	// Program replaces the container's command; nil leaves it.
	Program *Program
	// CreateErr and StartErr are what CreateContainer and StartContainer
	// answer. A container that failed to start is exited, with code 128.
	CreateErr, StartErr error
	// IgnoreKill: nothing ends the process, as if it hung in the kernel.
	IgnoreKill bool
	// WritableLayerBytes is added to the size of the container's writable layer.
	WritableLayerBytes uint64
	// Exec answers ExecSync; nil runs the command by the interpreter.
	Exec func(cmd []string) ExecReply
}

// Program is a process by its outer behaviour. The zero value exits with 0 at
// once.
type Program struct {
	// Output is written to stdout at the start.
	Output string
	// Lifetime is how long it runs, unless Forever or it is stopped.
	Lifetime time.Duration
	Forever  bool
	// ExitCode is what it exits with by itself.
	ExitCode int
	// OOMKilled: at the end of its lifetime the kernel kills it for its memory.
	OOMKilled bool
	// IgnoreTerm: it does not care about the stop signal. Else it exits with
	// TermExitCode, TermTakes after the signal.
	IgnoreTerm   bool
	TermTakes    time.Duration
	TermExitCode int
}

// ExecReply is what a command run by ExecSync does.
type ExecReply struct {
	Stdout, Stderr string
	ExitCode       int
	Takes          time.Duration
	Err            error // answered instead
}

// Script sets what containers do, by "namespace/pod/container",
// "pod/container", the container's name, or the image, looked up in this
// order. The nth script is that of attempt n, the last one that of all later
// attempts; none at all forgets them.
func (r *Runtime) Script(key string, scripts ...Script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(scripts) == 0 {
		delete(r.scripts, key)
		return
	}
	r.scripts[key] = scripts
}

// scriptFor finds a container's script. r.mu is held.
func (r *Runtime) scriptFor(c *container) Script {
	m, name := c.sandbox.config.GetMetadata(), c.config.GetMetadata().GetName()
	for _, key := range []string{
		m.GetNamespace() + "/" + m.GetName() + "/" + name, m.GetName() + "/" + name, name,
		c.config.GetImage().GetUserSpecifiedImage(), c.image.ref,
	} {
		if s := r.scripts[key]; len(s) > 0 {
			return s[min(int(c.config.GetMetadata().GetAttempt()), len(s)-1)]
		}
	}
	return Script{}
}

// ScriptAnnotation is the annotation of a pod with a shell script that its containers run
// instead of their commands; with "." and a container's name behind it, that container. Its
// variable ATTEMPT counts the restarts.
const ScriptAnnotation = "sim.podctl.io/script"

func (c *container) annotated() string {
	all := c.sandbox.config.GetAnnotations()
	return cmp.Or(all[ScriptAnnotation+"."+c.config.GetMetadata().GetName()], all[ScriptAnnotation])
}

// argv is the command that the container runs.
func (c *container) argv() []string {
	if script := c.annotated(); script != "" {
		return []string{"sh", "-c", script}
	}
	command := c.config.GetCommand()
	if len(command) == 0 {
		command = c.image.Command
	}
	return slices.Concat(command, c.config.GetArgs())
}

// program prepares the container's process and says what it does.
func (s Script) program(c *container) program {
	if s.Program != nil {
		for name := range signalNumbers {
			c.process.setTrap(name, trap{ignore: s.Program.IgnoreTerm})
		}
		return s.Program.run
	}
	if c.process.stdin != nil && isShell(c.process.argv) {
		return func(p *process) int {
			sh := newShell(p.ctx, p, &p.jobs)
			sh.readCommands("")
			return sh.status
		}
	}
	script, err := parseCommand(c.process.argv)
	if script == nil || err != nil {
		c.process.obey()
		return func(p *process) int {
			if err != nil {
				p.log.write("stderr", notParsed(err))
			}
			<-p.ctx.Done()
			return 0
		}
	}
	return func(p *process) int {
		sh := newShell(p.ctx, p, &p.jobs)
		sh.run(script.Stmts)
		return sh.status
	}
}

func (s *Program) run(p *process) int {
	p.log.write("stdout", s.Output)
	var end <-chan time.Time
	if !s.Forever {
		t := time.NewTimer(s.Lifetime)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-p.ctx.Done():
		return 0
	case <-p.wake:
		pause(p.ctx, s.TermTakes)
		return s.TermExitCode
	case <-end:
		if !s.OOMKilled {
			return s.ExitCode
		}
		p.mu.Lock()
		p.oom = true
		p.mu.Unlock()
		return exitKilled
	}
}
