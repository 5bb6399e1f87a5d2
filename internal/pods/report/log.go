package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Bounds of what is read of a log: its age, its lines, and its bytes.
const (
	LogSince = 2 * time.Hour
	LogLines = 2000
	maxLog   = 1 << 20
)

// Journal returns the last lines of a systemd unit in the journal.
type Journal func(ctx context.Context, unit string) ([]byte, error)

// Journalctl asks journald.
func Journalctl(ctx context.Context, unit string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "journalctl", "--unit="+unit, fmt.Sprintf("--since=-%ds", int(LogSince.Seconds())), fmt.Sprintf("--lines=%d", LogLines),
		"--no-pager", "--quiet", "--output=short-iso-precise")
	var out, errw tail
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errw, abandonAfter
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("journalctl: %w", cmp.Or(errors.New(string(bytes.TrimSpace(errw.kept))), err))
	}
	return out.kept, nil
}

// tail keeps the last maxLog bytes that are written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - maxLog; extra > maxLog {
		t.kept = bytes.Clone(t.kept[extra:])
	}
	return len(p), nil
}

// ReadLog returns the last lines of the log of a process: of its systemd unit in the journal,
// else of the file that its standard error is.
func ReadLog(ctx context.Context, procs proc.FS, pid int, journal Journal) ([]File, error) {
	unit := unitOf(procs, pid)
	var unread error
	if unit != "" && journal != nil {
		text, err := journal(ctx, unit)
		if err == nil && len(bytes.TrimSpace(text)) > 0 {
			return []File{{Name: "journal.txt", Data: text}}, nil
		}
		unread = fmt.Errorf("journal of %s: %w", unit, cmp.Or(err, errors.New("no entries")))
	}
	stderr := filepath.Join(string(procs), strconv.Itoa(pid), "fd", "2")
	to, err := os.Readlink(stderr)
	if err != nil {
		return nil, errors.Join(unread, fmt.Errorf("standard error of process %d: %w", pid, err))
	}
	f, err := bounded.Open(stderr)
	if errors.Is(err, bounded.ErrNotRegular) {
		return nil, errors.Join(unread, fmt.Errorf("process %d is in no systemd unit with a journal, and its standard error, %s, is not a file: its log is elsewhere", pid, to))
	}
	if err != nil {
		return nil, errors.Join(unread, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	text, err := lastLines(f, LogLines)
	return []File{{Name: "stderr.txt", Data: append(fmt.Appendf(nil, "# the end of %s\n", to), text...)}}, err
}

// unitOf returns the systemd unit of a process, "" if it is in none.
func unitOf(procs proc.FS, pid int) string {
	groups, err := procs.Cgroups(pid)
	if err != nil {
		return ""
	}
	for _, g := range groups {
		if len(g.Controllers) > 0 && !g.Has("name=systemd") {
			continue
		}
		for name := range strings.SplitSeq(g.Path, "/") {
			if strings.HasSuffix(name, ".service") {
				return name
			}
		}
	}
	return ""
}

// lastLines returns the last lines of a file, at most maxLog bytes.
func lastLines(f *os.File, lines int) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if begin := info.Size() - maxLog; begin > 0 {
		if _, err := f.Seek(begin, io.SeekStart); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLog))
	if err != nil {
		return nil, err
	}
	at := len(bytes.TrimRight(text, "\n"))
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:], nil
}
