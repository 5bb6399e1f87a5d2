package proc

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// Process is one process at the moment when it was read.
type Process struct {
	PID    int
	Parent int // 0 if the parent is in an outer PID namespace
	State  State
	// Start is when the process started, in clock ticks since boot. PID and
	// Start together identify a process; a PID alone can be reused.
	Start uint64
	Comm  string
	// UID is the real user id, as podctl's user namespace has it.
	UID int
	// PIDs has the PID in each PID namespace of the process, the innermost
	// last; nil if the kernel does not say.
	PIDs []int
	// Pending are signals sent to the process and not yet delivered.
	Pending, Blocked, Ignored, Caught SignalSet
	// Capabilities are the effective ones, in the user namespace of the process.
	Capabilities CapabilitySet

	// exiting: it has ended, or is about to.
	exiting bool
}

// IsShim reports whether the process is by its name between a runtime and its containers.
// The kernel truncates names to 15 bytes.
func (p Process) IsShim() bool {
	return strings.HasPrefix(p.Comm, "containerd-shim") || strings.HasPrefix(p.Comm, "conmon") || p.Comm == "shim"
}

// State is the kernel's letter for the state of a process.
type State byte

// The states that matter here; R and S are the normal ones.
const (
	Running         State = 'R'
	Sleeping        State = 'S'
	Uninterruptible State = 'D'
	Stopped         State = 'T' // by a signal
	Traced          State = 't' // by a debugger
	Zombie          State = 'Z' // has ended, its parent has not waited for it
	Dead            State = 'X'
)

func (s State) String() string {
	if s == 0 {
		return ""
	}
	return string(rune(s))
}

// Ended reports whether the process executes no more.
func (s State) Ended() bool { return s == Zombie || s == Dead || s == 'x' }

// SignalSet is a set of signals as /proc/PID/status shows it.
type SignalSet uint64

// Has reports whether the set contains the signal.
func (s SignalSet) Has(signal syscall.Signal) bool {
	return signal > 0 && s&(1<<(uint(signal)-1)) != 0
}

// CapabilitySet is a set of capabilities as /proc/PID/status shows it.
type CapabilitySet uint64

// SysAdmin is CAP_SYS_ADMIN.
const SysAdmin = 21

// Has reports whether the set contains the capability.
func (s CapabilitySet) Has(capability uint) bool { return s&(1<<capability) != 0 }

// IsNamespaceInit reports whether the process is the first of a PID namespace,
// which the kernel protects from signals that it does not handle.
func (p Process) IsNamespaceInit() bool {
	return len(p.PIDs) > 1 && p.PIDs[len(p.PIDs)-1] == 1
}

// Discards reports whether a signal sent from outside has no effect: it is ignored,
// was sent and is pending because it is blocked, or the process is the first of a PID
// namespace and does not handle it. The kernel discards no signal that is blocked, so
// that one that is not pending says nothing: a signalfd reads it, or a shell blocks all
// of them while it starts a process. The set that a process waits for in sigtimedwait
// is not shown as blocked. SIGKILL and SIGSTOP from an outer namespace always work; 0 is
// a signal that is not known.
func (p Process) Discards(signal syscall.Signal) bool {
	if signal == 0 || signal == syscall.SIGKILL || signal == syscall.SIGSTOP {
		return false
	}
	if p.Blocked.Has(signal) {
		return p.Pending.Has(signal)
	}
	return p.Ignored.Has(signal) || p.IsNamespaceInit() && !p.Caught.Has(signal)
}

// Read reads a process. The error is ErrGone if there is none.
func (f FS) Read(pid int) (Process, error) {
	p := Process{PID: pid}
	stat, err := f.read(pid, "stat", maxFile)
	if err != nil {
		return p, err
	}
	if err := p.parseStat(string(stat)); err != nil {
		return p, fmt.Errorf("read process %d: %w", pid, err)
	}
	status, err := f.read(pid, "status", maxFile)
	if err != nil {
		return p, err
	}
	p.parseStatus(string(status))
	return p, nil
}

// Fields of proc_pid_stat(5), counted from the third.
const (
	flagsField = 9 - 3
	startField = 22 - 3
)

// flagExiting is the kernel's PF_EXITING.
const flagExiting = 0x4

// parseStat reads "10 (name) S 7 …". The name may contain anything, also
// parentheses and newlines.
func (p *Process) parseStat(stat string) error {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return fmt.Errorf("unexpected stat %.40q", stat)
	}
	p.Comm = stat[open+1 : end]
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 2 || len(fields[0]) != 1 {
		return fmt.Errorf("unexpected stat %.40q", stat)
	}
	p.State = State(fields[0][0])
	p.Parent, _ = strconv.Atoi(fields[1])
	if len(fields) > flagsField {
		flags, _ := strconv.ParseUint(fields[flagsField], 10, 64)
		p.exiting = flags&flagExiting != 0
	}
	if len(fields) > startField {
		p.Start, _ = strconv.ParseUint(fields[startField], 10, 64)
	}
	return nil
}

func (p *Process) parseStatus(status string) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "Uid":
			uid, _, _ := strings.Cut(value, "\t")
			p.UID, _ = strconv.Atoi(uid)
		case "NSpid":
			for id := range strings.FieldsSeq(value) {
				if n, err := strconv.Atoi(id); err == nil {
					p.PIDs = append(p.PIDs, n)
				}
			}
		case "SigPnd", "ShdPnd":
			p.Pending |= parseSignals(value)
		case "SigBlk":
			p.Blocked = parseSignals(value)
		case "SigIgn":
			p.Ignored = parseSignals(value)
		case "SigCgt":
			p.Caught = parseSignals(value)
		case "CapEff":
			p.Capabilities = CapabilitySet(parseSignals(value))
		}
	}
}

func parseSignals(mask string) SignalSet {
	n, _ := strconv.ParseUint(mask, 16, 64)
	return SignalSet(n)
}
