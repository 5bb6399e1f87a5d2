package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"
)

// env is what a command may see of the world.
type env struct {
	in   io.Reader
	out  io.Writer
	errw io.Writer
	// tty: out is a terminal, so output may move the cursor.
	tty bool
	// width is the terminal's width in columns, 0 where it is not known.
	width func() int
	now   func() time.Time
	// interrupts delivers SIGINT and SIGTERM, each one separately.
	interrupts <-chan os.Signal
	// log goes to errw; its level is set by -v.
	log   *slog.Logger
	level *slog.LevelVar
}

func newEnv(interrupts <-chan os.Signal) *env {
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	return &env{
		in:   os.Stdin,
		out:  os.Stdout,
		errw: os.Stderr,
		tty:  term.IsTerminal(int(os.Stdout.Fd())),
		width: func() int {
			w, _, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		now:        time.Now,
		interrupts: interrupts,
		log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		level:      level,
	}
}
