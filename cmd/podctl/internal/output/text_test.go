package output

import "testing"

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0B", 1023: "1023B", 1024: "1.0KiB", 10 << 10: "10KiB", 999 << 10: "999KiB", 1000 << 10: "1.0MiB",
		4300000: "4.1MiB", 1 << 30: "1.0GiB", 1<<64 - 1: "16EiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
}
