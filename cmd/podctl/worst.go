package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// worst is the process of a container that is in its way most: one that cannot
// be interrupted, else the first one. proc is /proc.
func worst(proc string, first process) process {
	if first.state == 'D' || first.state == 0 {
		return first
	}
	for _, pid := range siblings(proc, first.pid) {
		if p := readProcess(proc, pid); p.state == 'D' && (p.pending || first.pending) {
			return p
		}
	}
	return first
}

// siblings are the processes of the cgroup that a process is in.
func siblings(proc string, pid int) []int {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || (parts[1] != "" && parts[1] != "pids") {
			continue
		}
		procs, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", parts[1], parts[2], "cgroup.procs"))
		if err != nil {
			continue
		}
		for id := range strings.FieldsSeq(string(procs)) {
			if n, err := strconv.Atoi(id); err == nil {
				pids = append(pids, n)
			}
		}
		if len(pids) > 0 {
			return pids
		}
	}
	return nil
}
