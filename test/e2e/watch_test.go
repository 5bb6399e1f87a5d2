package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// watchLine is a line of `podctl pleg watch -o json`.
type watchLine struct {
	Type, Name, Event, Container, Source, Message string
	ExitCode                                      *int32
	Initial                                       bool
	LagSeconds                                    *float64
	Summary                                       struct{ Events map[string]int }
}

// watch is a podctl pleg watch, and the bare CRI calls that make what it sees.
type watch struct {
	*process
	bare *bare.Client
}

// watch starts it and returns once it watches.
func (p *place) watch(t *testing.T) *watch {
	t.Helper()
	c := dialBare(t, p.rt)
	there, err := c.RunSandbox(t.Context(), bare.Spec{Name: "there", LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append(p.flags(), "pleg", "watch", "--initial", "-o", "json")...)
	w := &watch{process: p.command("", cmd), bare: c}
	w.tells("there", whole[0])
	w.end(there)
	w.tells("there", whole[0], whole[3], whole[5])
	return w
}

// report is what `podctl pleg check -o json` prints.
type report struct {
	Status, Reason, Hints, NoHints string
	Pods, Containers               int
}

// check runs it and returns what it printed, and its exit code.
func (p *place) check() (report, int) {
	p.t.Helper()
	proc := p.command("", exec.Command(binary, append(p.flags(), "pleg", "check", "-o", "json")...))
	code := proc.wait()
	out, errw := proc.output()
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil || errw != "" {
		p.t.Errorf("%v: %s%s", err, out, errw)
	}
	return r, code
}

func dialBare(t *testing.T, rt *live.Instance) *bare.Client {
	t.Helper()
	c, err := bare.Dial(rt.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// lines returns what it has printed until now.
func (w *watch) lines() []watchLine {
	w.t.Helper()
	out, _ := w.output()
	var all []watchLine
	for text := range strings.Lines(out) {
		var l watchLine
		if !strings.HasSuffix(text, "\n") {
			break // half of it has come
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			w.t.Fatalf("not JSON: %v: %s", err, text)
		}
		all = append(all, l)
	}
	return all
}

// notes are the texts about the runtime.
func (w *watch) notes() string {
	var notes []string
	for _, l := range w.lines() {
		if l.Type == "note" {
			notes = append(notes, l.Message)
		}
	}
	return strings.Join(notes, "\n")
}

// of returns the events of a pod.
func (w *watch) of(name string) []string {
	var events []string
	for _, l := range w.lines() {
		if l.Type != "event" || l.Name != name {
			continue
		}
		text := l.Event + " " + l.Container
		if l.Container == "" {
			text = l.Event + " (sandbox)"
		}
		if l.ExitCode != nil {
			text += fmt.Sprintf(", exit %d", *l.ExitCode)
		}
		events = append(events, text)
	}
	return events
}

// tells waits until it has told as many events of a pod, which must be these.
func (w *watch) tells(name string, want ...string) {
	w.t.Helper()
	everything := func() string { out, errw := w.output(); return out + errw }
	eventually(w.t, fmt.Sprintf("watch tells %q of %s", want, name),
		func() bool { return len(w.of(name)) >= len(want) }, everything)
	if got := w.of(name); !slices.Equal(got, want) {
		w.t.Errorf("watch told of %s:\n%s\nwant:\n%s\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"), everything())
	}
}

func (w *watch) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *watch) spec(name string, command ...string) bare.Spec {
	return bare.Spec{Name: name, Image: image.BusyboxName, Command: command, LogDir: w.t.TempDir()}
}

// run runs a pod and returns once watch has told of its sandbox and container,
// in that order: a relist that finds both at once could not tell it.
func (w *watch) run(name string, command ...string) *bare.Pod {
	w.t.Helper()
	p, err := w.bare.RunSandbox(w.t.Context(), w.spec(name, command...))
	w.must(err)
	w.tells(name, whole[:1]...)
	w.must(w.bare.StartContainer(w.t.Context(), p))
	w.tells(name, whole[:2]...)
	return p
}

// end takes a pod through the rest of its life, each step after watch has
// told of the one before.
func (w *watch) end(p *bare.Pod) {
	w.t.Helper()
	told := len(w.of(p.Name))
	step := func(events int, err error) {
		w.t.Helper()
		w.must(err)
		told += events
		eventually(w.t, "watch tells of "+p.Name, func() bool { return len(w.of(p.Name)) >= told }, func() string { return w.notes() })
	}
	if p.ContainerID != "" && !strings.Contains(strings.Join(w.of(p.Name), "\n"), "ContainerDied c") {
		step(1, w.bare.StopContainer(w.t.Context(), p, 10))
	}
	step(1, w.bare.Stop(w.t.Context(), p))
	step(0, w.bare.Remove(w.t.Context(), p))
}

// live takes a pod through a whole life.
func (w *watch) live(name string) {
	w.t.Helper()
	p := w.run(name, "sh", "-c", endsWith3)
	eventually(w.t, "the container listens to TERM", func() bool {
		log, err := os.ReadFile(p.LogPath())
		return err == nil && len(log) > 0
	}, w.notes)
	w.end(p)
	w.tells(name, whole...)
}

// subscriber gets the runtime's events, as a kubelet does.
type subscriber struct {
	bare *bare.Client
	mu   sync.Mutex
	got  map[string]bool // "ID TYPE"
}

func subscribe(t *testing.T, rt *live.Instance) *subscriber {
	t.Helper()
	s := &subscriber{bare: dialBare(t, rt), got: map[string]bool{}}
	stream, err := s.bare.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			event, err := stream.Recv()
			if err != nil {
				return // the test has ended
			}
			s.mu.Lock()
			s.got[event.ContainerId+" "+event.ContainerEventType.String()] = true
			s.mu.Unlock()
		}
	}()
	return s
}

// missed returns those of the events that have not come.
func (s *subscriber) missed(events []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool { return s.got[e] })
}

// lives takes some pods through their lives, and returns the events that this
// makes, as subscriber.got has them.
func lives(t *testing.T, c *bare.Client, name string) (events []string) {
	t.Helper()
	for i := range 5 {
		p, err := c.Start(t.Context(), bare.Spec{
			Name: fmt.Sprintf("%s-%d", name, i), Image: image.BusyboxName, Command: []string{"sleep", "3600"}, LogDir: t.TempDir(),
		})
		if err == nil {
			err = c.StopContainer(t.Context(), p, 0)
		}
		if err == nil {
			err = c.Stop(t.Context(), p)
		}
		if err == nil {
			err = c.Remove(t.Context(), p)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{p.SandboxID, p.ContainerID} {
			for _, what := range []string{"CREATED", "STARTED", "STOPPED", "DELETED"} {
				events = append(events, fmt.Sprintf("%s CONTAINER_%s_EVENT", id, what))
			}
		}
	}
	return events
}

// killProcess kills the processes with exactly this command line.
func killProcess(t *testing.T, argv ...string) {
	t.Helper()
	killed := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || string(data) != strings.Join(argv, "\x00")+"\x00" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		t.Fatalf("%d processes are %q", killed, argv)
	}
}
