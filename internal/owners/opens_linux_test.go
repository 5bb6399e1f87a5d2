package owners

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/owners/owner"
)

// A podctl process with many pods has as many lock files in its directory: the directory
// is read once, and again for a process without a socket; only the locks of instances are opened.
func TestLocksOfOtherProcessesPodsAreNotOpened(t *testing.T) {
	run := t.TempDir()
	dir := filepath.Join(run, "there")
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	for i := range 50 {
		if err := locks.Claim(fmt.Sprintf("pod-%d_default", i)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"", "instance-agent.lock", "", "instance-agent.lock"}
	// A podctl of another package's tests may look here meanwhile, but not always.
	var got []string
	for attempt := 0; attempt < 10 && !slices.Equal(got, want); attempt++ {
		opened := watchOpens(t, dir)
		a := asked(t, Asker{Locks: filepath.Join(run, "here"), Everybody: true}, tested)
		if len(a.Processes) != 1 || a.Processes[0].Settled {
			t.Fatalf("%+v", a.Processes)
		}
		got = opened()
	}
	if !slices.Equal(got, want) {
		t.Errorf("opened %q, want %q", got, want)
	}
}

// watchOpens returns a function that returns the names of the files of a directory that
// were opened since, in order; "" is the directory. The kernel reports a file once that
// is opened several times in a row.
func watchOpens(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		events := make([]byte, 64<<10)
		n, err := unix.Read(fd, events)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for at := 0; at < n; {
			// struct inotify_event: wd, mask, cookie, len, and the name with zero bytes after it.
			length := int(binary.NativeEndian.Uint32(events[at+12:]))
			name := events[at+unix.SizeofInotifyEvent:][:length]
			names = append(names, unix.ByteSliceToString(name))
			at += unix.SizeofInotifyEvent + length
		}
		return names
	}
}
