package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// jobWorld is a simulated runtime and directories, to which processes come that run Jobs.
type jobWorld struct {
	t      *testing.T
	dir    string
	proc   string
	sim    *sim.Runtime
	mu     sync.Mutex
	events []string
}

func inJobWorld(t *testing.T, test func(t *testing.T, w *jobWorld)) {
	w := &jobWorld{t: t, dir: t.TempDir(), proc: testutil.EmptyProc(t)}
	synctest.Test(t, func(t *testing.T) {
		w.t, w.sim = t, sim.New(sim.Options{})
		defer w.sim.Close()
		test(t, w)
	})
}

// idleListener is a socket without connections.
type idleListener struct{ closed chan struct{} }

func (l idleListener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l idleListener) Close() error              { close(l.closed); return nil }
func (l idleListener) Addr() net.Addr            { return &net.UnixAddr{} }

// process runs the manifests, and returns its session and what kills it.
func (w *jobWorld) process(manifests string) (*Session, func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	s, err := Open(ctx, Options{
		ConnectOptions: ConnectOptions{
			Runtime: "sim:", SimOutlives: true, Log: slog.New(slog.DiscardHandler),
			Simulate: func() (func(context.Context) (net.Conn, error), func()) { return w.sim.Dial, func() {} },
		},
		Paths: host.Below(w.dir), Instance: "agent", Sources: []string{"m"}, Procs: proc.FS(w.proc), Now: time.Now,
		Listen: func(string, string) (net.Listener, error) { return idleListener{make(chan struct{})}, nil },
		Events: func(ev event.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if ev.Kind != "" || ev.Reason == event.Starting {
				w.events = append(w.events, strings.TrimSpace(fmt.Sprintf("%s %s %s", ev.Kind, ev.Reason, ev.Message)))
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(s, manifests)
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	return s, func() {
		cancel()
		if err := <-ran; err != nil {
			w.t.Error(err)
		}
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *jobWorld) set(s *Session, manifests string) {
	set, err := manifest.Parse(w.t.Context(), "m.yaml", []byte(manifests), manifest.LoadOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	s.Set("m", set.Pods, set.Objects)
}

// count returns how many events there were that begin so.
func (w *jobWorld) count(event string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return !strings.HasPrefix(e, event) }))
}

func (w *jobWorld) expect(event string, times int) {
	w.t.Helper()
	if n := w.count(event); n != times {
		w.t.Errorf("%q came %d times, want %d\n%s", event, n, times, strings.Join(w.events, "\n"))
	}
}

func jobText(name, spec, script string) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n  %s\n  template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: c, image: i, command: [sh, -c, '%s']}]}}\n", name, spec, script)
}

// TestSuspendInAChangedFileSuspendsTheJob: the file is admitted again, as the agent does.
func TestSuspendInAChangedFileSuspendsTheJob(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		s, kill := w.process("")
		a := source.NewAdmitter()
		read := func(text string) {
			set, err := manifest.Parse(t.Context(), "m.yaml", []byte(text), manifest.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a.SetSource("m", source.Update{Pods: set.Pods, Objects: set.Objects})
			a.AdmitAll(false, true)
			pods, objects, _ := a.Admitted("m")
			s.Set("m", pods, objects)
			time.Sleep(10 * time.Second)
		}
		read(jobText("work", "completions: 1", "sleep 300"))
		read(jobText("work", "suspend: true\n  completions: 1", "sleep 300"))
		w.expect("Job Suspended", 1)
		read(jobText("work", "suspend: false\n  completions: 1", "sleep 300"))
		w.expect("Job Resumed", 1)
		w.expect("Starting", 2)
		kill()
	})
}

// imposter is a pod that succeeds soon, with the UID of another pod.
func imposter(namespace, name string, uid types.UID) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, uid: %s}\nspec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sh, -c, 'sleep 1; exit 0']}]}\n", name, namespace, uid)
}

// A pod with the UID of a pod that the Job has still to make is not taken for that.
func TestPodWithTheUIDOfAJobsPodCompletesNothing(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("work", "completions: 3", "sleep 30")
		set, err := manifest.Parse(t.Context(), "m.yaml", []byte(text), manifest.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		second := manifest.JobPod{Job: "work", JobUID: set.Pods[0].Job.UID, Number: 1}
		third := manifest.JobPod{Job: "work", JobUID: set.Pods[0].Job.UID, Number: 2}
		s, kill := w.process(text + imposter("a", "other", second.UID()) + imposter("default", third.Name("default"), third.UID()))
		time.Sleep(50 * time.Second)
		if j := s.Jobs()[0].Current(); j.Status.Succeeded != 1 {
			t.Errorf("after 50s %d pods have succeeded, of which each takes 30s", j.Status.Succeeded)
		}
		time.Sleep(time.Minute)
		w.expect("Starting", 3+2)
		w.expect("Job Completed", 1)
		kill()
	})
}

// A pod that comes with the UID or the name of a Job's pod does not take its place.
func TestPodOfAJobKeepsItsPlace(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("work", "completions: 2", "sleep 60")
		s, kill := w.process(text)
		time.Sleep(70 * time.Second) // the second pod runs
		var second manifest.JobPod
		for _, second = range s.Jobs()[0].Current().Desired() {
			if second.Number == 1 {
				break
			}
		}
		name := second.Name("default")
		for _, other := range []string{imposter("a", "other", second.UID()), imposter("default", name, "abc"), imposter("default", name, second.UID())} {
			w.set(s, text+other)
			time.Sleep(10 * time.Second)
			if all := s.Pods(); len(all) != 2 || !slices.ContainsFunc(all, func(i node.Info) bool { return i.Pod.UID == second.UID() && i.Pod.Name == name && !i.Ended() }) {
				t.Errorf("%d pods, of which none is %s", len(all), name)
			}
		}
		time.Sleep(time.Minute)
		w.expect("Starting", 2)
		w.expect("Job Completed", 1)
		kill()
	})
}

// A process that is killed in the middle of a Job leaves it to the next one: no pod runs twice, and a Job that is
// complete stays so.
func TestJobGoesOnInTheNextProcess(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("work", "completions: 3", "sleep 10")
		_, kill := w.process(text)
		time.Sleep(15 * time.Second) // the second pod runs
		kill()
		time.Sleep(2 * time.Second)
		_, kill = w.process(text)
		time.Sleep(time.Minute)
		kill()
		s, kill := w.process(text)
		time.Sleep(time.Minute)
		w.expect("Starting", 3)
		w.expect("Job SuccessfulCreate", 3)
		w.expect("Job Completed", 1)
		if j := s.Jobs()[0].Current(); j.Status.Succeeded != 3 || len(s.Pods()) != 3 {
			t.Errorf("%+v, %d pods", j.Status, len(s.Pods()))
		}
		w.set(s, "") // its manifest is gone
		time.Sleep(time.Minute)
		if len(s.Jobs()) != 0 || len(s.Pods()) != 0 {
			t.Errorf("%+v, %d pods are left", s.Jobs(), len(s.Pods()))
		}
		w.set(s, text) // and comes back
		time.Sleep(time.Minute)
		w.expect("Job Completed", 2)
		kill()
	})
}

// TestJobThatCannotBeRecordedWaits: a pod that no Record has would run again in the next process.
func TestJobThatCannotBeRecordedWaits(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		_, kill := w.process(jobText("work", "completions: 2", "sleep 10"))
		time.Sleep(5 * time.Second)
		files, err := filepath.Glob(filepath.Join(w.dir, "*", "jobs", "*", "*", "job.json"))
		if len(files) != 1 || err != nil {
			t.Fatal(files, err)
		}
		if err := errors.Join(os.Remove(files[0]), os.Mkdir(files[0], 0o700)); err != nil { // which no file replaces
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.expect("Starting", 1)
		w.expect("Job FailedJob write what is known of the Job", 1)
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.expect("Starting", 2)
		w.expect("Job Completed", 1)
		kill()
	})
}

// A Record that is too large to be read keeps its Job from running, and goes with its manifest, which may be gone
// before the process starts.
func TestRecordThatIsTooLargeGoesWithItsManifest(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("work", "completions: 1", "sleep 10")
		enlarge := func() {
			files, err := filepath.Glob(filepath.Join(w.dir, "*", "jobs", "*", "*", "job.json"))
			if len(files) != 1 || err != nil {
				t.Fatal(files, err)
			}
			if err := os.Truncate(files[0], 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		const removed = "Job FailedJob what was known of it was too large to be read"
		_, kill := w.process(text)
		time.Sleep(5 * time.Second)
		kill()
		enlarge()
		s, kill := w.process(text)
		time.Sleep(time.Minute)
		w.expect("Starting", 1)
		w.expect("Job FailedJob read what is known of the Job", 1)
		w.set(s, "")
		time.Sleep(time.Minute)
		w.expect(removed, 1)
		w.set(s, text)
		time.Sleep(time.Minute)
		w.expect("Starting", 2)
		w.expect("Job Completed", 1)
		kill()
		enlarge()
		s, kill = w.process("")
		time.Sleep(time.Minute)
		w.expect(removed, 2)
		if len(s.Pods()) != 0 {
			t.Errorf("%d pods are left", len(s.Pods()))
		}
		kill()
	})
}

// Failures are counted across processes, and the back-off goes on.
func TestFailuresAreCountedAcrossProcesses(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("bad", "backoffLimit: 2", "sleep 1; exit 3")
		s, kill := w.process(text)
		for range 4 {
			time.Sleep(9 * time.Second)
			kill()
			s, kill = w.process(text)
		}
		time.Sleep(10 * time.Minute)
		w.expect("Starting", 3)
		w.expect("Job BackoffLimitExceeded", 1)
		if end := s.Jobs()[0].Current().Finished(); end == nil || end.Reason != "BackoffLimitExceeded" {
			t.Errorf("ended by %+v", end)
		}
		kill()
	})
}

// With Forbid no two jobs of a CronJob run at a time, whichever process started them.
func TestForbidHoldsAcrossProcesses(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tick}\nspec:\n  schedule: '* * * * *'\n  concurrencyPolicy: Forbid\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sh, -c, 'sleep 90']}]}}}}\n"
		s, kill := w.process(text)
		for range 10 {
			time.Sleep(29 * time.Second)
			running := 0
			for _, i := range s.Pods() {
				if !i.Ended() {
					running++
				}
			}
			if running > 1 {
				t.Errorf("%d pods run", running)
			}
			kill()
			s, kill = w.process(text)
		}
		time.Sleep(time.Minute)
		if n := w.count("CronJob SuccessfulCreate"); n < 3 || n > 4 || w.count("Starting") != n {
			t.Errorf("%d jobs, %d pods\n%s", n, w.count("Starting"), strings.Join(w.events, "\n"))
		}
		if w.count("CronJob JobAlreadyActive") == 0 {
			t.Errorf("nothing says why no job started\n%s", strings.Join(w.events, "\n"))
		}
		kill()
	})
}

// An agent that terminates its pods fails no Job: the next one runs them again.
func TestShutdownFailsNoJob(t *testing.T) {
	inJobWorld(t, func(t *testing.T, w *jobWorld) {
		text := jobText("long", "backoffLimit: 0", "sleep 60")
		s, kill := w.process(text)
		time.Sleep(10 * time.Second)
		if err := s.Shutdown(t.Context(), 10*time.Second); err != nil {
			t.Error(err)
		}
		kill()
		s, kill = w.process(text)
		time.Sleep(2 * time.Minute)
		if j := s.Jobs()[0].Current(); j.Status.CompletionTime == nil || j.Status.Failed != 0 {
			t.Errorf("%+v\n%s", j.Status, strings.Join(w.events, "\n"))
		}
		kill()
	})
}
