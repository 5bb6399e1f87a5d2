package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// playLimit is how long a history may take in real time, which is a hundred times what it
// needs.
const playLimit = time.Minute

// player plays histories in a process of its own, one after the other: a panic, a deadlock and a full
// disk are those of one history, and one thread at a time makes most of them repeatable.
type player struct {
	t   *testing.T
	dir string

	cmd    *exec.Cmd // nil while there is none
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	stderr *lockedBuffer
}

func newPlayer(t *testing.T) *player {
	p := &player{t: t, dir: memoryDir(t)}
	t.Cleanup(p.stop)
	return p
}

// memoryDir makes a directory, in memory where the system has it.
func memoryDir(t *testing.T) string {
	if dir, err := os.MkdirTemp("/dev/shm", "podctl-seeds"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

func (p *player) launch() error {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSeeds$", "-test.timeout=0", "-seeds.player")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GOTRACEBACK=all", "TMPDIR="+p.dir)
	p.stderr = &lockedBuffer{}
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.stdin, p.stdout = cmd, stdin, bufio.NewScanner(stdout)
	p.stdout.Buffer(nil, 64<<20)
	return nil
}

func (p *player) stop() {
	if p.cmd != nil {
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// play plays a history.
func (p *player) play(acts []string) outcome {
	if p.cmd == nil {
		if err := p.launch(); err != nil {
			return outcome{Violations: []violation{{nothingElseFails, err.Error()}}}
		}
	}
	line, err := json.Marshal(acts)
	if err == nil {
		_, err = fmt.Fprintf(p.stdin, "%s\n", line)
	}
	if err != nil {
		return p.crashed(err.Error())
	}
	process := p.cmd.Process
	hung := time.AfterFunc(playLimit, func() { _ = process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	for p.stdout.Scan() {
		var out outcome
		if text, ok := bytes.CutPrefix(p.stdout.Bytes(), []byte(outcomePrefix)); ok && json.Unmarshal(text, &out) == nil {
			return out
		}
	}
	if !hung.Stop() {
		return p.crashed("the history hangs")
	}
	return p.crashed("the process ends")
}

// crashed is the outcome of a history that did not come to its end.
func (p *player) crashed(why string) outcome {
	p.stop()
	text := p.stderr.String()
	for _, begin := range []string{"panic: ", "fatal error: "} {
		if i := strings.Index(text, begin); i >= 0 {
			text = text[i:]
			why, _, _ = strings.Cut(text, "\n")
		}
	}
	v := violation{nothingElseFails, why}
	if _, late, ok := strings.Cut(why, "panic: "+ordersEnd+": "); ok { // history.bounded
		v = violation{ordersEnd, late}
	}
	return outcome{Violations: []violation{v}, Log: strings.Split(text[:min(len(text), 20_000)], "\n")}
}

const outcomePrefix = "outcome "

// playAll plays histories, one of a line of in, and writes what they led to.
func playAll(t *testing.T, in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var acts []string
		if err := json.Unmarshal(lines.Bytes(), &acts); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(playHistory(t, acts))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "%s%s\n", outcomePrefix, text)
	}
}

// shrink leaves out of a failing history what it fails without, in the same way.
func (p *player) shrink(acts []string, failed outcome) ([]string, outcome) {
	end := time.Now().Add(time.Minute)
	for size := len(acts) / 2; size > 0; {
		found := false
		for at := 0; at+size <= len(acts) && time.Now().Before(end); {
			less := append(append([]string{}, acts[:at]...), acts[at+size:]...)
			if out := p.play(less); len(out.Violations) > 0 && out.Violations[0].Invariant == failed.Violations[0].Invariant {
				acts, failed, found = less, out, true
			} else {
				at += size
			}
		}
		if !found {
			size /= 2
		}
	}
	return acts, failed
}

// lockedBuffer keeps the last of what a process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
