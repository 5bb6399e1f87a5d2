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
	holders, err := f.Holders(pid, selected)
	var pids []int
	for _, h := range holders {
		pids = append(pids, h.PID)
	}
	return slices.Compact(pids), err
}

// Holder is a process that has a socket which listens.
type Holder struct {
	PID int
	Listener
}

// Holders returns who has the selected sockets that listen in the network namespace of a
// process, one after the other by process: several may have a socket in common.
func (f FS) Holders(pid int, selected func(Listener) bool) ([]Holder, error) {
	sockets, err := f.Listeners(pid)
	if err != nil {
		return nil, err
	}
	listens := map[uint32]Listener{}
	for _, s := range sockets {
		if selected(s) {
			listens[s.Inode] = s
		}
	}
	if len(listens) == 0 {
		return nil, nil
	}
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	var found []Holder
	for _, pid := range pids {
		for _, inode := range f.Sockets(pid) {
			if l, listed := listens[inode]; listed {
				found = append(found, Holder{pid, l})
			}
		}
	}
	return found, nil
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
