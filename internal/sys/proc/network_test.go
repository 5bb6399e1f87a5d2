package proc

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNetworkIsThatOfThePodsInterface(t *testing.T) {
	const head = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:    9000      10    0    0    0     0          0         0     9000      10    0    0    0     0       0          0\n"
	for name, c := range map[string]struct {
		text string
		want Network
		fail bool
	}{
		"eth0":       {head + "  tap0: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n  eth0:1296 16 0 0 0 0 0 0 700 15 0 0 0 0 0 0\n", Network{1296, 700}, false},
		"other ones": {head + "  net1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n  net2: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n", Network{11, 22}, false},
		"loopback":   {head, Network{}, false},
		"garbage":    {head + "  eth0: x 16 0 0 0 0 0 0 700 15\n", Network{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "7", "net"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "7", "net", "dev"), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := FS(dir).Network(7); got != c.want || (err != nil) != c.fail {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
