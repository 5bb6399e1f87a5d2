package pulls

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// born returns when a file was created, zero if the file system does not say.
func born(f *os.File) time.Time {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}
