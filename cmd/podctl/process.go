package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is one process as /proc shows it.
type process struct {
	pid int
	// state is the kernel's letter: R, S, D (cannot be interrupted), Z (ended,
	// not waited for), T (stopped) …; 0 if there is no such process.
	state byte
	// wchan is where in the kernel it sleeps, "" if that is not shown.
	wchan  string
	parent int
	// deaf: SIGTERM does not reach it: ignored, blocked, or the first process
	// of a PID namespace without a handler. pending: a SIGTERM or SIGKILL waits.
	deaf, pending bool
}

const (
	sigKILL = 1 << (9 - 1)
	sigTERM = 1 << (15 - 1)
)

// readProcess reads a process; one that is not there has the state 0. proc is
// /proc.
func readProcess(proc string, pid int) process {
	p := process{pid: pid}
	dir := filepath.Join(proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return p
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 || len(fields[0]) != 1 {
		return p
	}
	p.state = fields[0][0]
	p.parent, _ = strconv.Atoi(fields[1]) // 0 is nobody
	if wchan, err := os.ReadFile(filepath.Join(dir, "wchan")); err == nil && string(wchan) != "0" {
		p.wchan = string(wchan)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err == nil {
		p.signals(string(status))
	}
	return p
}

// signals reads the masks of /proc/PID/status.
func (p *process) signals(status string) {
	masks, first := map[string]uint64{}, false
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt":
			masks[name], _ = strconv.ParseUint(value, 16, 64)
		case "NSpid":
			ids := strings.Fields(value)
			first = len(ids) > 1 && ids[len(ids)-1] == "1"
		}
	}
	p.deaf = (masks["SigIgn"]|masks["SigBlk"])&sigTERM != 0 || first && masks["SigCgt"]&sigTERM == 0
	p.pending = (masks["SigPnd"]|masks["ShdPnd"])&(sigTERM|sigKILL) != 0
}

// commName is the name of a process, "" if there is none.
func commName(proc string, pid int) string {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// isShim tells whether a process of that name stands between a runtime and its
// containers.
func isShim(name string) bool {
	return strings.HasPrefix(name, "containerd-shim") || strings.HasPrefix(name, "conmon") || name == "shim"
}
