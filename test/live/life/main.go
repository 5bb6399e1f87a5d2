// Command life is what the containers of the chaos test run. It holds a lock of
// its own name while it lives, so that a second container of that name that runs
// at the same time is noticed, whatever started it.
//
//	life [-for D -code N] [-flush D] [-deaf] DIR NAME
//
// DIR/NAME.lock is the lock. A life that finds it taken appends its name to
// DIR/twice; each appends its name to DIR/lives when it begins.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

func main() {
	span := flag.Duration("for", 0, "exit after this `time`; 0 is never")
	code := flag.Int("code", 0, "exit `code` after -for")
	flush := flag.Duration("flush", 0, "`time` between SIGTERM and the exit")
	deaf := flag.Bool("deaf", false, "ignore SIGTERM")
	flag.Parse()
	log.SetFlags(0)
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	if *deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	lock, err := begin(flag.Arg(0), flag.Arg(1))
	if err != nil {
		log.Fatal("life: ", err)
	}
	var end <-chan time.Time
	if *span > 0 {
		end = time.After(*span)
	}
	select {
	case <-end:
	case <-terminated:
		*code = 0
		time.Sleep(*flush)
	}
	runtime.KeepAlive(lock) // closed with the process
	os.Exit(*code)
}

// begin takes the lock, which the process holds until it ends.
func begin(dir, name string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = note(dir, "twice", name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return lock, note(dir, "lives", name)
}

// note appends a line in one write, so that lines of several lives do not mix.
func note(dir, file, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}
