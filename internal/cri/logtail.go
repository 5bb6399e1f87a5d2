package cri

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// tailBlock is how much TailLog reads first; then twice as much, and so on.
const tailBlock = 16 << 10

// TailLog returns the last n lines of a CRI log file, oldest first. It reads
// no more of the file than it needs. A line without an end counts; what is not
// in the format of a log line is left out. A file that does not exist is an
// fs.ErrNotExist.
func TailLog(path string, n int) ([]LogLine, error) {
	var lines []LogLine
	_, err := readBack(path, (int64(n)+1)*maxRawLine, func(tail []byte) bool {
		lines = joinLines(tail)
		return len(lines) > n // more than n, as the first of them may lack its first parts
	})
	if err != nil {
		return nil, err
	}
	return lines[max(0, len(lines)-n):], nil
}

// readBack reads the end of a file, more and more of it until that is enough,
// or limit bytes: whole lines, but for the last one.
func readBack(path string, limit int64, enough func(tail []byte) bool) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", path, err)
	}
	var tail []byte
	for start, step := end, int64(tailBlock); ; step *= 2 {
		size := min(start, step, limit-int64(len(tail)))
		start -= size
		block := make([]byte, size, int(size)+len(tail))
		if _, err := f.ReadAt(block, start); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read log %s: %w", path, err)
		}
		tail = append(block, tail...)
		whole := tail
		if start > 0 {
			// The first line may lack its beginning.
			_, whole, _ = bytes.Cut(tail, []byte("\n"))
		}
		if enough(whole) || start == 0 || int64(len(tail)) >= limit {
			return whole, nil
		}
	}
}

// joinLines parses a piece of a log file.
func joinLines(data []byte) []LogLine {
	var lines []LogLine
	j := joiner{}
	for raw := range bytes.Lines(data) {
		l, err := ParseLogLine(bytes.TrimSuffix(raw, []byte("\n")))
		if err != nil {
			continue
		}
		if full, ok := j.add(l); ok {
			lines = append(lines, full)
		}
	}
	return append(lines, j.rest()...)
}
