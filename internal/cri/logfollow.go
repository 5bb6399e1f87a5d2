package cri

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// followPeriod is how often a Follower looks for more.
	followPeriod = 100 * time.Millisecond
	// flushPeriod is the same once the container has ended, and flushTimeout how
	// long the runtime may then take to write the rest.
	flushPeriod  = 10 * time.Millisecond
	flushTimeout = 2 * time.Second
	// quietChecks is how many checks in a row must find nothing new where it is
	// not known whether the runtime still writes.
	quietChecks = 10
)

// Follower reads one CRI log file and its successors.
type Follower struct {
	path  string
	each  func(LogLine) error
	lines joiner

	file   *os.File
	reader *bufio.Reader
	read   int64  // bytes of file handed to begun and before
	begun  []byte // of a line that has no end yet
}

// OpenFollower opens the file if it exists: what is removed afterwards is
// still read.
func OpenFollower(path string) *Follower {
	f := &Follower{path: path, lines: joiner{}}
	_ = f.open() // Follow tries again, and returns the error
	return f
}

// Follow calls each for the lines of the file from its beginning, and for those
// that follow, until ctx ends (it returns ctx's error) or ended is closed. Then
// the container has ended, which a runtime may report before it has written
// the last lines: Follow reads until the runtime has closed the file, and
// returns nil. A file that does not exist yet is waited for. One that was moved
// away is read to its end and the new one after it; one that was truncated is
// read from its beginning again. each is called by this goroutine; its error
// ends Follow.
func (f *Follower) Follow(ctx context.Context, ended <-chan struct{}, each func(LogLine) error) error {
	f.each = each
	defer f.close()
	tick := time.NewTicker(followPeriod)
	defer tick.Stop()
	for {
		if err := f.drain(); err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return f.finish(ctx)
		case <-tick.C:
		}
	}
}

// finish reads what the runtime still writes of a container that has ended.
func (f *Follower) finish(ctx context.Context) error {
	tick := time.NewTicker(flushPeriod)
	defer tick.Stop()
	for checks, quiet := 0, 0; ; checks++ {
		complete := f.complete() // asked before reading
		file, before := f.file, f.read
		if err := f.drain(); err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		if quiet++; f.file != file || f.read != before {
			quiet = 0
		}
		complete = complete && f.file == file // not of its successor
		if complete || f.file == nil || quiet > quietChecks && !f.written() || checks >= int(flushTimeout/flushPeriod) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	for _, l := range f.lines.rest() {
		if err := f.each(l); err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
	}
	return nil
}

// complete reports whether it is known that nothing more will be written.
func (f *Follower) complete() bool {
	if f.file == nil {
		return false
	}
	writers, known := hasWriters(f.file)
	return known && !writers
}

// written reports whether it is known that the file is still open for writing.
func (f *Follower) written() bool {
	writers, known := hasWriters(f.file)
	return known && writers
}

// open opens the file at the path.
func (f *Follower) open() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	f.file, f.reader, f.read = file, bufio.NewReader(file), 0
	return nil
}

// drain reads all that can be read now.
func (f *Follower) drain() error {
	for {
		if f.file == nil {
			err := f.open()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		// Asked before reading: nothing is written to a file after the runtime
		// made its successor.
		replaced, truncated := f.replaced()
		if truncated {
			if _, err := f.file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			f.reader.Reset(f.file)
			f.read, f.begun = 0, nil
		}
		if err := f.readLines(); err != nil {
			return err
		}
		if !replaced {
			return nil
		}
		f.close()
	}
}

// readLines reads to the end of the file.
func (f *Follower) readLines() error {
	for {
		part, err := f.reader.ReadSlice('\n')
		f.read += int64(len(part))
		f.begun = append(f.begun, part[:min(len(part), maxRawLine-len(f.begun))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		l, err := ParseLogLine(bytes.TrimSuffix(f.begun, []byte("\n")))
		if err == nil {
			if full, ok := f.lines.add(l); ok {
				err = f.each(full)
			}
		} else {
			err = nil // not a log line
		}
		f.begun = f.begun[:0]
		if err != nil {
			return err
		}
	}
}

// replaced reports whether another file, not a missing one, is at the path now,
// and whether this one became shorter than what was read of it.
func (f *Follower) replaced() (replaced, truncated bool) {
	mine, err := f.file.Stat()
	if err != nil {
		return false, false
	}
	if there, err := os.Stat(f.path); err == nil && !os.SameFile(mine, there) {
		return true, false
	}
	return false, mine.Size() < f.read
}

func (f *Follower) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.begun = nil, nil
}
