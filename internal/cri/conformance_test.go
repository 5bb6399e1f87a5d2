package cri

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// transcript is what containerd 2.4.2 answered to story. To record it again:
//
//	PODCTL_RECORD_ENDPOINT=unix:///… go test -run Record ./internal/cri
//
// on a runtime of its own that holds docker.io/library/busybox.
const transcript = "testdata/containerd-2.4.2.txt"

// TestSimAnswersAsContainerd: every answer of the sim to one long story is the
// one that containerd gave.
func TestSimAnswersAsContainerd(t *testing.T) {
	want, err := os.ReadFile(transcript)
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		r.SetImage("missing", sim.ImageScript{Absent: true})
		r.Script("nocommand", sim.Script{StartErr: status.Error(codes.Unknown,
			`failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/no/such": stat /no/such: no such file or directory`)})
		s := &story{t: t, c: c, logs: logs}
		s.tell()
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(s.b.String(), "\n")); d != "" {
			t.Errorf("-containerd +sim\n%s", d)
		}
	})
}

// TestRecord writes the transcript.
func TestRecord(t *testing.T) {
	endpoint := os.Getenv("PODCTL_RECORD_ENDPOINT")
	if endpoint == "" {
		t.Skip("PODCTL_RECORD_ENDPOINT names no runtime to record")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: endpoint}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &story{t: t, c: c, logs: t.TempDir()}
	s.tell()
	if err := os.WriteFile(transcript, []byte(s.b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// story does things to a runtime and notes the answers, without ids and times.
type story struct {
	t    *testing.T
	c    *Client
	logs string
	b    strings.Builder
	mu   sync.Mutex
	// names of ids
	names map[string]string
	hints []string
}

var hexID = regexp.MustCompile(`[0-9a-f]{13,64}`)

// clean puts names in the place of ids.
func (s *story) clean(text string) string {
	return hexID.ReplaceAllStringFunc(text, func(id string) string {
		for full, name := range s.names {
			if strings.HasPrefix(full, id) {
				return "<" + name + ">"
			}
		}
		return "<id>"
	})
}

func (s *story) note(format string, args ...any) {
	s.b.WriteString(s.clean(fmt.Sprintf(format, args...)) + "\n")
}

// outcome notes how a call ended.
func (s *story) outcome(what string, err error) {
	if err == nil {
		s.note("%s: ok", what)
		return
	}
	kind := "error"
	for name, k := range map[string]error{"ErrNotFound": ErrNotFound, "ErrNameReserved": ErrNameReserved, "ErrDeadline": ErrDeadline, "ErrUnsupported": ErrUnsupported} {
		if errors.Is(err, k) {
			kind = name
		}
	}
	s.note("%s: %s: %v", what, kind, err)
}

// settle lets the runtime finish what it does after a call.
func (s *story) settle() { time.Sleep(300 * time.Millisecond) }

func (s *story) sandbox(name string, attempt uint32, handler string) (string, *runtimeapi.PodSandboxConfig) {
	cfg := sandboxConfig(name, attempt)
	cfg.LogDirectory = filepath.Join(s.logs, name)
	cfg.Linux = &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
		NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
	}}
	id, err := s.c.RunPodSandbox(s.t.Context(), cfg, handler)
	s.outcome(fmt.Sprintf("run sandbox %s attempt %d %s", name, attempt, handler), err)
	s.name(id, fmt.Sprintf("%s%d", name, attempt))
	return id, cfg
}

func (s *story) name(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "" {
		s.names[id] = name
	}
}

func (s *story) create(sb string, cfg *runtimeapi.PodSandboxConfig, name, image string, argv ...string) string {
	ct := containerConfig(cfg.Metadata.Name, name, 0, argv...)
	ct.Image.Image, ct.Image.UserSpecifiedImage = image, image // CRI-O asks for both
	ct.Linux = &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
		NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
	}}
	// CRI-O leaves the making of the directory to the kubelet.
	if err := os.MkdirAll(filepath.Join(cfg.LogDirectory, name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	id, err := s.c.CreateContainer(s.t.Context(), sb, ct, cfg)
	s.outcome("create "+name+" of "+image, err)
	s.name(id, name)
	return id
}

// look notes what list and status say of a pod.
func (s *story) look() {
	const uid = "uid-a"
	ctx := s.t.Context()
	p, err := s.c.ListPod(ctx, uid)
	if err != nil || p == nil {
		s.note("look at %s: nothing, %v", uid, err)
		return
	}
	st, err := s.c.PodStatus(ctx, p)
	if err != nil {
		s.outcome("status of "+uid, err)
		return
	}
	s.note("look at %s: %d IPs", uid, len(st.IPs))
	for i, sb := range p.Sandboxes {
		s.note("  sandbox %s: %s owner %q manifest %t; status %s, %d IPs", sb.ID, sb.State, sb.Owner, sb.HasManifest, st.Sandboxes[i].State, len(st.Sandboxes[i].IPs))
	}
	for _, c := range st.Containers {
		listed := pod.Unknown
		for _, l := range p.Containers {
			if l.ID == c.ID {
				listed = l.State
			}
		}
		s.note("  container %s: %s; status %s code %d reason %q message %q started %t finished %t in %s image %s signal %s restarts %d",
			c.Name, listed, c.State, c.ExitCode, c.Reason, c.Message, !c.StartedAt.IsZero(), !c.FinishedAt.IsZero(), c.SandboxID, c.Image, c.StopSignal, c.RestartCount)
	}
}

func (s *story) tell() {
	s.names = map[string]string{}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	opened := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.c.Notices(ctx, func() { close(opened) }, func(h pod.Notice) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.hints = append(s.hints, fmt.Sprintf("%s of %s deleted %t", h.ID, h.PodUID, h.Deleted))
		})
	}()
	select {
	case <-opened:
	case err := <-ended:
		s.outcome("hints", err)
		ended <- err
	}
	c := s.c
	const busybox = "docker.io/library/busybox:latest"

	s.note("# names, images, handlers")
	sb, cfg := s.sandbox("a", 0, "")
	s.sandbox("a", 0, "")
	s.sandbox("b", 0, "nosuch")
	quick := s.create(sb, cfg, "quick", busybox, "sh", "-c", "echo hello; exit 3")
	s.create(sb, cfg, "quick", busybox, "true")
	s.create(sb, cfg, "absent", "missing", "true")
	s.create("nosuch", cfg, "nowhere", busybox, "true")
	s.look()

	s.note("# starting")
	s.outcome("start quick", c.StartContainer(ctx, quick))
	s.settle()
	s.outcome("start quick again", c.StartContainer(ctx, quick))
	nocommand := s.create(sb, cfg, "nocommand", busybox, "/no/such")
	s.outcome("start nocommand", c.StartContainer(ctx, nocommand))
	s.outcome("start nothing", c.StartContainer(ctx, "nosuch"))
	s.look()

	s.note("# exec")
	long := s.create(sb, cfg, "long", busybox, "sleep", "3600")
	s.outcome("start long", c.StartContainer(ctx, long))
	r, err := c.ExecSync(ctx, long, []string{"sh", "-c", "echo out; echo err >&2; exit 4"}, 5*time.Second)
	s.outcome("exec", err)
	s.note("  stdout %q stderr %q code %d", r.Stdout, r.Stderr, r.ExitCode)
	_, err = c.ExecSync(ctx, long, []string{"sleep", "60"}, time.Second)
	s.outcome("exec that is too slow", err)
	_, err = c.ExecSync(ctx, quick, []string{"true"}, time.Second)
	s.outcome("exec in an exited container", err)
	_, err = c.ExecSync(ctx, "nosuch", []string{"true"}, time.Second)
	s.outcome("exec in nothing", err)

	s.note("# stopping containers")
	idle := s.create(sb, cfg, "idle", busybox, "true")
	s.outcome("stop idle, never started", c.StopContainer(ctx, idle, time.Second))
	s.outcome("stop quick, exited", c.StopContainer(ctx, quick, time.Second))
	s.outcome("stop nothing", c.StopContainer(ctx, "nosuch", time.Second))
	trapped := s.create(sb, cfg, "trapped", busybox, "sh", "-c", `trap "exit 0" TERM; while true; do sleep 0.1; done`)
	s.outcome("start trapped", c.StartContainer(ctx, trapped))
	s.settle()
	s.outcome("stop trapped", c.StopContainer(ctx, trapped, 30*time.Second))
	start := time.Now()
	s.outcome("stop long", c.StopContainer(ctx, long, time.Second))
	s.note("  after its grace: %t", time.Since(start) >= time.Second && time.Since(start) < 10*time.Second)
	s.settle()
	s.look()

	s.note("# removing containers")
	running := s.create(sb, cfg, "running", busybox, "sleep", "3600")
	s.outcome("start running", c.StartContainer(ctx, running))
	s.outcome("remove running", c.RemoveContainer(ctx, running))
	s.outcome("remove quick", c.RemoveContainer(ctx, quick))
	s.outcome("remove quick again", c.RemoveContainer(ctx, quick))
	_, err = c.ContainerStatus(ctx, quick)
	s.outcome("status of quick", err)

	s.note("# stopping and removing sandboxes")
	killed := s.create(sb, cfg, "killed", busybox, "sleep", "3600")
	s.outcome("start killed", c.StartContainer(ctx, killed))
	s.outcome("stop sandbox", c.StopPodSandbox(ctx, sb))
	s.settle()
	s.outcome("stop sandbox again", c.StopPodSandbox(ctx, sb))
	s.outcome("stop no sandbox", c.StopPodSandbox(ctx, "nosuch"))
	s.create(sb, cfg, "late", busybox, "true")
	s.outcome("start idle", c.StartContainer(ctx, idle))
	s.look()
	next, _ := s.sandbox("a", 1, "")
	s.look()
	s.outcome("remove the ready sandbox", c.RemovePodSandbox(ctx, next))
	for _, id := range []string{idle, trapped, nocommand, long} { // it would remove them in any order
		s.outcome("remove "+id, c.RemoveContainer(ctx, id))
	}
	s.outcome("remove sandbox", c.RemovePodSandbox(ctx, sb))
	s.outcome("remove sandbox again", c.RemovePodSandbox(ctx, sb))
	_, _, err = c.Manifest(ctx, sb)
	s.outcome("status of sandbox", err)
	s.look()

	s.note("# what was heard")
	s.settle()
	cancel()
	s.t.Log("hints ended:", <-ended)
	for _, h := range s.hints {
		s.note("%s", h)
	}
}
