package proc

import (
	"fmt"
	"strconv"
	"strings"
)

// Network is what was received and sent in a network namespace, in bytes.
type Network struct{ Rx, Tx uint64 }

// defaultInterface is that of a pod.
const defaultInterface = "eth0"

// Network returns the traffic of the network namespace of a process: of eth0, or
// without one, of all interfaces but the loopback.
func (f FS) Network(pid int) (Network, error) {
	b, err := f.read(pid, "net/dev", maxFile)
	if err != nil {
		return Network{}, err
	}
	var all Network
	for line := range strings.Lines(string(b)) {
		// eth0: 1296 16 0 0 0 0 0 0 1186 15 0 …
		name, counters, ok := strings.Cut(line, ":")
		fields := strings.Fields(counters)
		if name = strings.TrimSpace(name); !ok || len(fields) < 9 || name == "lo" {
			continue
		}
		rx, rxErr := strconv.ParseUint(fields[0], 10, 64)
		tx, txErr := strconv.ParseUint(fields[8], 10, 64)
		if rxErr != nil || txErr != nil {
			return Network{}, fmt.Errorf("read process %d: unexpected net/dev %.80q", pid, line)
		}
		if name == defaultInterface {
			return Network{rx, tx}, nil
		}
		all.Rx, all.Tx = all.Rx+rx, all.Tx+tx
	}
	return all, nil
}
