package live

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// HungMount mounts a file system at a directory that never answers, until the test ends or
// lift is called: FUSE, whose server is the test and reads no request. It skips the test where
// the kernel has no FUSE.
func HungMount(t testing.TB, dir string) (lift func()) {
	t.Helper()
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		skip(t, err.Error())
	}
	options := fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", server.Fd())
	if err := unix.Mount("hung", dir, "fuse.hung", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		_ = server.Close()
		skip(t, "mount FUSE: "+err.Error())
	}
	lift = sync.OnceFunc(func() {
		_ = server.Close() // whoever waits for an answer gets ENOTCONN
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(lift)
	return lift
}
