package proc

import (
	"os"
	"path/filepath"
	"strconv"
)

// maxThreads bounds the threads of a process that are read.
const maxThreads = 1024

// Thread is a thread of a process.
type Thread struct {
	ID    int
	State State
	// WaitChannel is the kernel function in which it sleeps, "" if it does not sleep or the
	// kernel does not show it.
	WaitChannel string
}

// Threads returns the threads of a process, the first ones if there are very many. What
// waits in a program with several threads is often not the first of them.
func (f FS) Threads(pid int) ([]Thread, error) {
	dir, err := os.Open(f.path(pid, "task"))
	if err != nil {
		return nil, f.explain(pid, err)
	}
	defer func() { _ = dir.Close() }() // it is only read
	names, err := dir.Readdirnames(maxThreads)
	if err != nil {
		return nil, f.explain(pid, err)
	}
	var all []Thread
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		var p Process
		stat, err := f.read(pid, filepath.Join("task", name, "stat"), maxFile)
		if err != nil || p.parseStat(string(stat)) != nil {
			continue // it has ended
		}
		channel, _ := f.read(pid, filepath.Join("task", name, "wchan"), maxFile)
		if string(channel) == "0" {
			channel = nil
		}
		all = append(all, Thread{id, p.State, string(channel)})
	}
	return all, nil
}
