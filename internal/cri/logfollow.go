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

// followPeriod is how often FollowLog looks for more.
const followPeriod = 100 * time.Millisecond

// FollowLog hands out the lines of a CRI log file from its beginning, and
// those that follow, until ctx ends (it returns ctx's error) or ended is
// closed: then it reads what is there and returns nil. A file that does not
// exist yet is waited for. One that was moved away is read to its end and the
// new one after it; one that was truncated is read from its beginning again.
// each is called from this goroutine; an error of it ends all.
func FollowLog(ctx context.Context, path string, ended <-chan struct{}, each func(LogLine) error) error {
	f := &follower{path: path, each: each, lines: joiner{}}
	defer f.close()
	tick := time.NewTicker(followPeriod)
	defer tick.Stop()
	for last := false; ; {
		if err := f.drain(); err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		if last {
			for _, l := range f.lines.rest() {
				if err := each(l); err != nil {
					return fmt.Errorf("follow log: %w", err)
				}
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			last = true
		case <-tick.C:
		}
	}
}

// follower reads one log file and its successors.
type follower struct {
	path  string
	each  func(LogLine) error
	lines joiner

	file   *os.File
	reader *bufio.Reader
	read   int64  // bytes of file handed to begun and before
	begun  []byte // of a line that has no end yet
}

// drain reads all that can be read now.
func (f *follower) drain() error {
	for {
		if f.file == nil {
			file, err := os.Open(f.path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			f.file, f.reader, f.read = file, bufio.NewReader(file), 0
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
func (f *follower) readLines() error {
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
			err = nil // not a log line: somebody else's writing
		}
		f.begun = f.begun[:0]
		if err != nil {
			return err
		}
	}
}

// replaced tells whether another file, not a missing one, is at the path now,
// and whether this one became shorter than what was read of it.
func (f *follower) replaced() (replaced, truncated bool) {
	mine, err := f.file.Stat()
	if err != nil {
		return false, false
	}
	if there, err := os.Stat(f.path); err == nil && !os.SameFile(mine, there) {
		return true, false
	}
	return false, mine.Size() < f.read
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.begun = nil, nil
}
