package proc

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Listener is a socket on which a process may be spoken to.
type Listener struct {
	Protocol string // TCP or UDP
	Port     uint16
	Inode    uint32
}

// States of a socket in /proc/PID/net: of TCP one that listens, of UDP one without a peer.
const (
	stateListen      = "0A"
	stateUnconnected = "07"
)

// Listeners returns the sockets that listen in the network namespace of a process.
func (f FS) Listeners(pid int) ([]Listener, error) {
	var found []Listener
	for _, table := range []struct{ name, protocol, state string }{
		{"tcp", "TCP", stateListen}, {"tcp6", "TCP", stateListen}, {"udp", "UDP", stateUnconnected}, {"udp6", "UDP", stateUnconnected},
	} {
		text, err := f.read(pid, "net/"+table.name, maxTable)
		if err != nil && table.name == "tcp" { // the others depend on the kernel
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != table.state {
				continue
			}
			port, okPort := hexPort(fields[1])
			inode, err := strconv.ParseUint(fields[9], 10, 32)
			if okPort && err == nil {
				found = append(found, Listener{table.protocol, port, uint32(inode)})
			}
		}
	}
	return found, nil
}

// Listening returns the processes with one of the selected sockets that listen in the network
// namespace of a process.
func (f FS) Listening(pid int, selected func(Listener) bool) ([]int, error) {
	sockets, err := f.Listeners(pid)
	if err != nil {
		return nil, err
	}
	listens := map[uint32]bool{}
	for _, s := range sockets {
		if selected(s) {
			listens[s.Inode] = true
		}
	}
	if len(listens) == 0 {
		return nil, nil
	}
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pids, func(pid int) bool {
		return !slices.ContainsFunc(f.Sockets(pid), func(inode uint32) bool { return listens[inode] })
	}), nil
}

// hexPort reads the port of ADDRESS:PORT.
func hexPort(address string) (uint16, bool) {
	_, text, _ := strings.Cut(address, ":")
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 2 {
		return 0, false
	}
	return binary.BigEndian.Uint16(b), true
}
