//go:build linux

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs the steps and returns the exit code: that of an exit step, 1 with an error if a
// step fails, else 0.
func Run(steps []string, out, errw io.Writer) (int, error) {
	r := runner{out: out, errw: errw, signals: make(chan os.Signal, 1)}
	for _, step := range steps { // a signal may come before the step that awaits it
		if names, ok := strings.CutPrefix(step, "await:"); ok {
			for name := range strings.SplitSeq(names, ",") {
				signal.Notify(r.signals, signalOf(name))
			}
		}
	}
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, ":")
		code, done, err := r.run(verb, rest)
		if err != nil {
			return 1, fmt.Errorf("%s: %w", step, err)
		}
		if done {
			return code, nil
		}
	}
	return 0, nil
}

// runner runs steps.
type runner struct {
	out, errw io.Writer
	signals   chan os.Signal // those that steps await
}

// run runs a step; done ends the process.
func (r runner) run(verb, rest string) (code int, done bool, err error) {
	out, errw := r.out, r.errw
	name, value, _ := strings.Cut(rest, "=")
	switch verb {
	case "facts": // PATH,PATH: the facts, and files at these paths
		var files []string
		if rest != "" {
			files = strings.Split(rest, ",")
		}
		var b []byte
		if b, err = json.Marshal(Facts(files)); err == nil {
			_, err = fmt.Fprintf(out, "%s%s\n", FactsPrefix, b)
		}
	case "out": // TEXT
		_, err = fmt.Fprintln(out, rest)
	case "err": // TEXT
		_, err = fmt.Fprintln(errw, rest)
	case "long": // N: a line of so many bytes
		var n int
		if n, err = strconv.Atoi(rest); err == nil {
			_, err = fmt.Fprintln(out, strings.Repeat("x", n))
		}
	case "write": // PATH=TEXT; what cannot be written is said
		if err := os.WriteFile(name, []byte(value), 0o644); err != nil {
			fmt.Fprintln(out, "cannot write:", err)
		}
	case "read": // PATH
		b, err := os.ReadFile(rest)
		if err != nil {
			b = []byte("cannot read: " + err.Error())
		}
		fmt.Fprintln(out, strings.TrimSpace(string(b)))
	case "sleep": // DURATION
		var d time.Duration
		d, err = time.ParseDuration(rest)
		time.Sleep(d)
	case "exit": // N
		code, err = strconv.Atoi(rest)
		done = true
	case "exists": // PATH: fails if there is nothing
		_, err = os.Stat(rest)
	case "once": // PATH=N: exits with N unless the file is there
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			done = true
			code, _ = strconv.Atoi(value)
			return code, done, os.WriteFile(name, nil, 0o644)
		}
	case "await": // SIG,SIG: until one of these signals comes, which is written
		fmt.Fprintln(out, "signal", unix.SignalName((<-r.signals).(syscall.Signal)))
	case "ignore": // SIG
		signal.Ignore(signalOf(rest))
	case "listen": // ADDRESS=TEXT: answers HTTP requests with the text
		var l net.Listener
		if l, err = net.Listen("tcp", name); err == nil {
			go func() {
				_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, value) }))
			}()
		}
	case "get": // ADDRESS: writes the answer
		var answer *http.Response
		if answer, err = http.Get("http://" + rest); err == nil {
			defer answer.Body.Close()
			_, err = io.Copy(out, io.LimitReader(answer.Body, maxContent))
			fmt.Fprintln(out)
		}
	case "stamp": // writes the time
		fmt.Fprintln(out, time.Now().UnixNano())
	case "eat": // N: so many MiB of memory
		var n int
		n, err = strconv.Atoi(rest)
		for range n {
			eaten = append(eaten, make([]byte, 1<<20))
			for i := 0; i < 1<<20; i += 4096 {
				eaten[len(eaten)-1][i] = 1
			}
		}
	case "child": // STEP, in a child process, whose end is written
		fmt.Fprintln(out, "child:", exec.Command("/proc/self/exe", Command, rest).Run())
	default:
		err = errors.New("unknown step")
	}
	return code, done, err
}

// eaten keeps memory in use.
var eaten [][]byte

// signalOf is the signal of a name without SIG.
func signalOf(name string) syscall.Signal { return unix.SignalNum("SIG" + name) }
