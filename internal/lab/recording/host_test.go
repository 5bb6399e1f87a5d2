package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/sys/proc"
)

// host is a directory that stands for /proc, and one for /sys/fs/cgroup.
type host struct {
	t       *testing.T
	procs   proc.FS
	cgroups string
}

func newHost(t *testing.T) host {
	h := host{t, proc.FS(t.TempDir()), t.TempDir()}
	h.write(string(h.procs), "stat", "btime 1000\n")
	h.link("self/ns/pid", "pid:[1]")
	return h
}

func (h host) write(dir, name, text string) {
	h.t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) link(name, target string) {
	h.t.Helper()
	path := filepath.Join(string(h.procs), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
		h.t.Fatal(err)
	}
}

// process adds a process of a cgroup.
func (h host) process(pid int, comm, stat, cgroup string) {
	dir := filepath.Join(string(h.procs), fmt.Sprint(pid))
	h.write(dir, "stat", fmt.Sprintf("%d (%s) %s 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0", pid, comm, stat))
	h.write(dir, "status", "Uid:\t7\n")
	h.write(dir, "comm", comm+"\n")
	h.write(dir, "cmdline", comm+"\x00--password\x00x")
	h.write(dir, "cgroup", "3:freezer:"+cgroup+"\n4:blkio:"+cgroup+"\n")
	h.write(dir, "wchan", "nfs_wait")
	h.link(fmt.Sprintf("%d/ns/pid", pid), "pid:[1]")
}

// inside is a runtime whose one container has a process.
type inside struct {
	grpc.ClientConnInterface
	pids []int // of one status after the other; 0: it has exited
}

func (r *inside) Invoke(_ context.Context, method string, _, reply any, _ ...grpc.CallOption) error {
	switch a := reply.(type) {
	case *runtimeapi.ListContainersResponse:
		a.Containers = []*runtimeapi.Container{{Id: "c1"}}
	case *runtimeapi.ContainerStatusResponse:
		a.Status, a.Info = &runtimeapi.ContainerStatus{Id: "c1"}, map[string]string{"info": fmt.Sprintf(`{"pid":%d}`, r.pids[0])}
		r.pids = r.pids[min(1, len(r.pids)-1):]
	}
	return nil
}

// recordHost records a host on which a container is, and returns the host as it is read elsewhere.
func (h host) recordHost(runtime *inside) (proc.FS, string, *Recording) {
	h.t.Helper()
	r := &Recorder{Runtime: runtime, Image: runtime, Writer: NewWriter(Header{})}
	if err := errors.Join(r.Snapshot(h.t.Context()), r.Host(h.t.Context(), HostOptions{Procs: h.procs, Cgroups: h.cgroups})); err != nil {
		h.t.Fatal(err)
	}
	recorded := read(h.t, finish(h.t, r.Writer))
	procs, cgroups, err := recorded.WriteFiles(h.t.Context(), h.t.TempDir())
	if err != nil {
		h.t.Fatal(err)
	}
	return procs, cgroups, recorded
}

func TestRecordedHostIsTheHost(t *testing.T) {
	h := newHost(t)
	h.process(1, "systemd", "S 0", "/")
	h.process(7, "containerd-shim", "S 1", "/")
	h.process(8812, "db) D 1", "D 7", "/pods/p1/c1")
	h.write(h.cgroups, "freezer/pods/p1/c1/freezer.state", "FREEZING")
	h.write(h.cgroups, "freezer/pods/p1/freezer.self_freezing", "1")
	h.write(h.cgroups, "freezer/pods/p1/cgroup.procs", "8812")
	h.write(h.cgroups, "freezer/pods/freezer.state", "THAWED")
	h.write(h.cgroups, "freezer/pods/tasks", "1\n2\n")
	h.write(h.cgroups, "blkio/pods/p1/c1/x", "1")
	procs, cgroups, _ := h.recordHost(&inside{pids: []int{8812}})
	for _, pid := range []int{1, 7, 8812} {
		want, wantErr := h.procs.Read(pid)
		got, err := procs.Read(pid)
		if fmt.Sprint(got) != fmt.Sprint(want) || err != nil || wantErr != nil {
			t.Errorf("%+v, want %+v; %v", got, want, err)
		}
		if same, err := procs.SamePIDNamespace(pid); !same || err != nil {
			t.Errorf("process %d: %v, %v", pid, same, err)
		}
	}
	if _, err := procs.Read(99); !errors.Is(err, proc.ErrGone) {
		t.Errorf("a process that was not there: %v", err)
	}
	if args, err := procs.Command(8812); err == nil {
		t.Errorf("the command line of a program is recorded: %q", args)
	}
	if args, _ := procs.Command(7); len(args) != 3 {
		t.Errorf("command line of the shim: %q", args)
	}
	for name, there := range map[string]bool{
		"freezer/pods/p1/c1/freezer.state": true, "freezer/pods/p1/freezer.self_freezing": true, "freezer/pods/p1/cgroup.procs": true, "freezer/pods/freezer.state": true,
		"freezer/pods/tasks": false, "blkio/pods/p1/c1/x": false,
	} {
		if _, err := os.Stat(filepath.Join(cgroups, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process that ends while it is recorded is not one that the runtime has not noticed.
func TestRecordingAsksAgainAboutProcessesThatEnded(t *testing.T) {
	for name, c := range map[string]struct {
		pids []int
		want int
	}{
		"it runs":                   {[]int{8812}, 8812},
		"its exit is noticed":       {[]int{9, 0}, 0},
		"it has another by then":    {[]int{9, 8812}, 8812},
		"a zombie that is not seen": {[]int{10, 10}, 10},
		"gone, and not noticed":     {[]int{9, 9}, 9},
	} {
		h := newHost(t)
		h.process(8812, "db", "S 1", "/")
		h.process(10, "db", "Z 1", "/")
		_, _, recorded := h.recordHost(&inside{pids: c.pids})
		s := Serve(recorded)
		answer, err := recorded.Answer("ContainerStatus", encode(t, &runtimeapi.ContainerStatusRequest{ContainerId: "c1", Verbose: true}))
		if want := fmt.Sprintf(`{"pid":%d}`, c.want); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		s.Close()
	}
}

// Anybody may have processes, with the names of runtimes and long command lines. One that is left
// out would look as if it had ended: none is recorded.
func TestTooManyProcessesAreNotRecorded(t *testing.T) {
	h := newHost(t)
	for pid := range maxRecorded/2/maxFile + 1 {
		h.process(pid+100, "runc", "S 1", "/")
		h.write(string(h.procs), fmt.Sprintf("%d/cmdline", pid+100), strings.Repeat("x", maxFile))
	}
	w := NewWriter(Header{})
	r := &Recorder{Writer: w}
	if err := r.Host(t.Context(), HostOptions{Procs: h.procs, Cgroups: h.cgroups}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if recorded := read(t, finish(t, w)); len(recorded.files) > 0 {
		t.Errorf("%d files", len(recorded.files))
	}
}

// No recording makes podctl write outside a directory of its own, or read a file of the host for one
// of the recorded node.
func TestHostileFilesAreRejected(t *testing.T) {
	for name, file := range map[string]string{
		"absolute":         `{"path":"/etc/passwd","text":"x"}`,
		"above":            `{"path":"proc/../../x","text":"x"}`,
		"elsewhere":        `{"path":"etc/passwd","text":"x"}`,
		"the directory":    `{"path":"proc","text":"x"}`,
		"not clean":        `{"path":"proc//1/stat","text":"x"}`,
		"a long name":      `{"path":"proc/` + strings.Repeat("x", 5000) + `","text":"x"}`,
		"a link to a file": `{"path":"proc/1/stat","link":"/etc/shadow"}`,
		"a link above":     `{"path":"proc/1","link":"../../../etc"}`,
	} {
		text := header + `{"t":1,"file":` + file + `}` + "\n" + `{"t":2,"end":1}` + "\n"
		if _, err := Read("f", strings.NewReader(string(zipped(text)))); err == nil || !strings.HasPrefix(err.Error(), "read recording f:2: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file below a link, or in place of a directory, is an error of writing.
	for name, files := range map[string]string{
		"below a link": `{"t":1,"file":{"path":"proc/1","link":"pid:[1]"}}` + "\n" + `{"t":1,"file":{"path":"proc/1/stat","text":"x"}}` + "\n",
		"below a file": `{"t":1,"file":{"path":"proc/1","text":"x"}}` + "\n" + `{"t":1,"file":{"path":"proc/1/stat","text":"x"}}` + "\n",
	} {
		recorded := read(t, zipped(header+files+`{"t":2,"end":2}`+"\n"))
		if _, _, err := recorded.WriteFiles(t.Context(), t.TempDir()); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	// A file takes a block, and each of its directories another one.
	var deep strings.Builder
	for i := range 20 {
		fmt.Fprintf(&deep, `{"t":1,"file":{"path":"cgroup/%d%s/x"}}`+"\n", i, strings.Repeat("/a", 2000))
	}
	if _, err := Read("f", strings.NewReader(string(zipped(header+deep.String()+`{"t":2,"end":20}`+"\n")))); err == nil || !strings.Contains(err.Error(), "f:18: files of more than 128 MiB") {
		t.Error(err)
	}
	nothing := header + `{"t":1,"owners":{"kubelet":{"asked":true,"pods":[null]},"sources":[{"pods":[null]}],"processes":[{"pods":{"items":[null]}}]}}` + "\n" + end1
	if answers := read(t, zipped(nothing)).Owners().Answers(); len(answers.Kubelet.Pods)+len(answers.Sources[0].Pods) > 0 {
		t.Errorf("%+v", answers)
	}
	many := header + `{"t":1,"owners":{"kubelet":{"pods":[{}` + strings.Repeat(",{}", maxKubernetes) + `]}}}` + "\n" + end1
	if _, err := Read("f", strings.NewReader(string(zipped(many)))); err == nil || !strings.Contains(err.Error(), "f:2: more than 65536 objects") {
		t.Error(err)
	}
}

// What the owners said is masked as what the runtime said.
func TestRecordedOwnersAreMasked(t *testing.T) {
	var saved owners.Saved
	saved.Processes = []owners.SavedProcess{{Name: "agent", Err: "login " + planted}}
	w := NewWriter(Header{})
	if err := w.AddOwners(saved); err != nil {
		t.Fatal(err)
	}
	for _, c := range secretive(t) {
		c.addTo(t, w)
	}
	if err := w.AddFiles([]File{{Path: "proc/7/cmdline", Text: "runc --log " + planted}}); err != nil {
		t.Fatal(err)
	}
	file := finish(t, w)
	if text := unzipped(t, file); strings.Contains(text, planted) {
		t.Error(text)
	}
	recorded := read(t, file)
	if recorded.Owners().Processes[0].Err != "login ***" || recorded.files[0].Text != "runc --log ***" {
		t.Errorf("%+v, %+v", recorded.Owners(), recorded.files)
	}
}
