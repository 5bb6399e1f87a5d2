package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "write the SVG to this `FILE`")
	flag.StringVar(&o.prompt, "prompt", "", "show this `COMMAND` as what was typed; default: the command itself")
	flag.IntVar(&o.cols, "cols", 110, "terminal width in `COLUMNS`")
	flag.IntVar(&o.rows, "rows", 24, "terminal height in `ROWS`")
	flag.DurationVar(&o.snap, "snap", 0, "take the screen after this `TIME` and interrupt the command; 0: when it exits")
	flag.Parse()
	o.argv = flag.Args()
	if o.out == "" || len(o.argv) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// options is what to run and how to show it.
type options struct {
	out, prompt string
	cols, rows  int
	snap        time.Duration
	argv        []string
}

func (o options) run() error {
	lines, err := o.record()
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(draw(lines, o.cols)), 0o644)
}

// record runs the command in a pseudo-terminal and returns the screen.
func (o options) record() ([]line, error) {
	screen := vt10x.New(vt10x.WithSize(o.cols, o.rows))
	if o.prompt == "" {
		o.prompt = strings.Join(o.argv, " ")
	}
	fmt.Fprintf(screen, "\x1b[32m$\x1b[0m \x1b[1m%s\x1b[0m\r\n", o.prompt)
	cmd := exec.Command(o.argv[0], o.argv[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(o.cols), Rows: uint16(o.rows)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tty.Close() }() // nothing is written any more
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := tty.Read(buf)
			_, _ = screen.Write(buf[:n])
			if err != nil {
				return // EIO: the command has exited
			}
		}
	}()
	if o.snap == 0 {
		<-read
		_ = cmd.Wait() // orphans exits 1 by design
		return capture(screen), nil
	}
	select {
	case <-time.After(o.snap):
	case <-read:
		return nil, errors.Join(errors.New("the command exited before its screen was taken"), cmd.Wait())
	}
	lines := capture(screen)
	_ = cmd.Process.Signal(syscall.SIGINT)
	<-read
	_ = cmd.Wait()
	return lines, nil
}
