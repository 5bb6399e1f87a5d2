package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/testkit/testutil"
)

// fake writes the files of a process below a directory that stands for /proc.
func fake(t *testing.T, root FS, pid int, files map[string]string) {
	t.Helper()
	dir := filepath.Join(string(root), strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadParsesStatAndStatus(t *testing.T) {
	root := FS(t.TempDir())
	fake(t, root, 10, map[string]string{ // the name is chosen to mislead
		"stat":   "10 (a) Z 1 (b\n) D 7 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1",
		"status": "Name:\tx\nNSpid:\t10\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000000\nCapEff:\t0000000000200000\n",
	})
	got, err := root.Read(10)
	want := Process{PID: 10, Parent: 7, State: Uninterruptible, Start: 4711, Comm: "a) Z 1 (b\n", PIDs: []int{10, 1}, Pending: 0x100, Ignored: 0x1000, Capabilities: 1 << SysAdmin}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if !got.Pending.Has(syscall.SIGKILL) || got.Pending.Has(syscall.SIGTERM) || !got.Ignored.Has(syscall.SIGPIPE) {
		t.Errorf("signals of %+v", got)
	}
}

func TestAbsentProcessIsGoneAndUnreadableProcessIsNot(t *testing.T) {
	root := FS(t.TempDir())
	if _, err := root.Read(13); !errors.Is(err, ErrGone) {
		t.Errorf("absent: %v", err)
	}
	fake(t, root, 14, map[string]string{"stat": "nonsense", "status": ""})
	if _, err := root.Read(14); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("malformed: %v", err)
	}
	if err := root.explain(15, fs.ErrPermission); errors.Is(err, ErrGone) {
		t.Errorf("no permission: %v", err)
	}
	if runtime.GOOS == "linux" { // hidepid shows no directory of a process that lives
		if err := Default.explain(os.Getpid(), fs.ErrNotExist); errors.Is(err, ErrGone) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("hidden: %v", err)
		}
	}
}

// The kernel keeps a process that has ended until its parent waits for it, without
// namespaces; of one whose parent has waited some reads fail for lack of permission.
func TestProcessThatHasEndedIsGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	testutil.Eventually(t, time.Minute, "the child ends", func() bool {
		p, err := Default.Read(pid)
		return err != nil || p.State.Ended()
	})
	if _, err := Default.Namespace(pid, "net"); !errors.Is(err, ErrGone) {
		t.Errorf("not waited for: %v", err)
	}
	if err := Default.explain(pid, fs.ErrPermission); errors.Is(err, ErrGone) {
		t.Errorf("not waited for, and no permission: %v", err)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := Default.explain(pid, fs.ErrPermission); !errors.Is(err, ErrGone) {
		t.Errorf("waited for: %v", err)
	}
	if err := Default.explain(os.Getpid(), fs.ErrPermission); errors.Is(err, ErrGone) {
		t.Errorf("alive: %v", err)
	}
}

func TestSignalIsDiscardedIfIgnoredBlockedOrUnhandledByNamespaceInit(t *testing.T) {
	const term = 1 << (15 - 1)
	for _, c := range []struct {
		name string
		p    Process
		want bool
	}{
		{"default action", Process{PIDs: []int{12, 2}}, false},
		{"ignored", Process{Ignored: term}, true},
		{"blocked and pending", Process{Blocked: term, Pending: term}, true},
		{"blocked and not sent, as by a shell that forks", Process{Blocked: term}, false},
		{"pending and about to be delivered", Process{Pending: term}, false},
		{"init without a handler", Process{PIDs: []int{10, 1}}, true},
		{"init with a handler", Process{PIDs: []int{10, 1}, Caught: term}, false},
		{"init that reads it from a signalfd", Process{PIDs: []int{10, 1}, Blocked: term}, false},
		{"ignored and read from a signalfd", Process{Ignored: term, Blocked: term}, false},
		{"init of the host", Process{PIDs: []int{1}}, false},
	} {
		if got := c.p.Discards(syscall.SIGTERM); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.p.Discards(syscall.SIGKILL) {
			t.Errorf("%s: SIGKILL", c.name)
		}
	}
}

func TestByParentListsChildrenOfEachProcess(t *testing.T) {
	root := FS(t.TempDir())
	for pid, parent := range map[int]int{5: 1, 6: 5, 7: 6, 8: 1, 9: 5} {
		fake(t, root, pid, map[string]string{"stat": strconv.Itoa(pid) + " (x) S " + strconv.Itoa(parent), "status": ""})
	}
	all, err := root.ByParent()
	if found := all[5]; err != nil || len(found) != 2 || found[0].PID != 6 || found[1].PID != 9 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestStartedCountsTicksFromBoot(t *testing.T) {
	root := FS(t.TempDir())
	if err := os.WriteFile(filepath.Join(string(root), "stat"), []byte("cpu 1 2\nbtime 1000000\nprocesses 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	started, err := root.Started(Process{Start: 250})
	if want := time.Unix(1000002, 500e6); err != nil || !started.Equal(want) {
		t.Errorf("%v, %v, want %v", started, err, want)
	}
}

func TestCgroupsNameTheirControllers(t *testing.T) {
	root := FS(t.TempDir())
	fake(t, root, 5, map[string]string{"cgroup": "4:cpu,cpuacct:/a:b\n1:name=systemd:/s\n0::/u\n"})
	got, err := root.Cgroups(5)
	want := []Cgroup{{[]string{"cpu", "cpuacct"}, "/a:b"}, {[]string{"name=systemd"}, "/s"}, {nil, "/u"}}
	if err != nil || !reflect.DeepEqual(got, want) || !got[0].Has("cpu") || got[2].Has("cpu") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWaitersAndOtherLocksAreNoHolders(t *testing.T) {
	const file = "fe:00:531"
	for lines, want := range map[string]int{
		"1: FLOCK  ADVISORY  WRITE 4888 fe:00:531 0 EOF": 4888,
		"1: FLOCK  ADVISORY  WRITE 6 fe:01:531 0 EOF\n2: FLOCK  ADVISORY  WRITE 7 fe:00:5310 0 EOF\n3: FLOCK  ADVISORY  WRITE 8 fe:00:531 0 EOF": 8,
		"1: -> FLOCK  ADVISORY  WRITE 6681 fe:00:531 0 EOF":      0,
		"1: POSIX  ADVISORY  WRITE 6681 fe:00:531 0 EOF":         0,
		"1: FLOCK  ADVISORY  WRITE 0 fe:00:531 0 EOF":            0,
		"1: FLOCK  ADVISORY  WRITE x fe:00:531 0 EOF\nshort\n\n": 0,
		"": 0,
	} {
		if got := lockHolder(file, func() []byte { return []byte(lines) }); got != want {
			t.Errorf("%q: %d, want %d", lines, got, want)
		}
	}
}

func TestLockHolderIsTheProcessThatTookTheLock(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if pid := Default.LockHolder(path); pid != os.Getpid() {
		t.Errorf("held by %d, want %d", pid, os.Getpid())
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if pid := Default.LockHolder(path); pid != 0 {
		t.Errorf("a lock that is free: held by %d", pid)
	}
	if pid := Default.LockHolder(path + "-missing"); pid != 0 {
		t.Errorf("a file that does not exist: held by %d", pid)
	}
}

// The kernel may leave a lock out of one read.
func TestLockHolderIsLookedForAgain(t *testing.T) {
	reads := 0
	got := lockHolder("00:2d:1234", func() []byte {
		if reads++; reads == 1 {
			return []byte("1: FLOCK  ADVISORY  WRITE 5 00:2d:99 0 EOF\n")
		}
		return []byte("1: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF\n")
	})
	if got != 4711 || reads != 2 {
		t.Errorf("holder %d after %d reads, want 4711 after 2", got, reads)
	}
}

func TestReadOfTheKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := Default.Read(os.Getpid()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v", err)
		}
		t.Skip("no /proc here")
	}
	p, err := Default.Read(os.Getpid())
	if err != nil || p.State == 0 || p.Parent != os.Getppid() || p.Start == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if args, err := Default.Command(os.Getpid()); err != nil || !reflect.DeepEqual(args, os.Args) {
		t.Errorf("%q, %v", args, err)
	}
	if same, err := Default.SamePIDNamespace(os.Getpid()); !same || err != nil {
		t.Errorf("own PID namespace: %v, %v", same, err)
	}
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Skip(err)
	}
	if _, err := Default.Read(child.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("child that was waited for: %v", err)
	}
}
