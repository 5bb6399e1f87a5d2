package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Role is what a process does for a pod.
type Role string

// The roles.
const (
	RoleCNI   Role = "cni"   // a CNI plugin
	RoleShim  Role = "shim"  // containerd's shim, conmon
	RoleOCI   Role = "oci"   // runc, crun: creates or starts a container
	RoleMount Role = "mount" // mounts a volume
)

// Process is a process that works for a pod.
type Process struct {
	proc.Process
	Role    Role
	Command []string
	Started time.Time
	// Verb is what a CNI plugin was asked for: ADD, DEL.
	Verb string
	// WaitChannel is the kernel function in which it waits, or one of its threads if that has
	// been in uninterruptible sleep or waiting for a file system at several looks.
	WaitChannel string
	// Blocked: a thread of the process has been in uninterruptible sleep at several looks.
	Blocked bool
}

// IsStopped reports whether a signal or a debugger has stopped the process.
func (p *Process) IsStopped() bool { return p.State == proc.Stopped || p.State == proc.Traced }

// Program returns the name of the program: of runc's init, which changes its own name, too, and
// of a script that of its file.
func (p *Process) Program() string {
	switch {
	case len(p.Command) == 0 || p.Command[0] == "":
		return p.Comm
	case p.Role == RoleCNI && len(p.Command) > 1 && filepath.IsAbs(p.Command[1]) && strings.HasPrefix(filepath.Base(p.Command[1]), p.Comm):
		return filepath.Base(p.Command[1])
	}
	return filepath.Base(p.Command[0])
}

// WaitsForFiles reports whether the process waits for a file system.
func (p *Process) WaitsForFiles() bool { return isFileWait(p.WaitChannel) }

// fileWaits are parts of the names of the kernel functions in which a process waits for a
// file system or its device.
var fileWaits = []string{"nfs", "rpc_wait", "fuse", "request_wait_answer", "cifs", "smb", "ceph", "autofs", "p9_", "jbd2", "xfs_", "ext4", "io_schedule", "folio_wait", "wait_on_buffer"}

func isFileWait(channel string) bool {
	for _, part := range fileWaits {
		if strings.Contains(channel, part) {
			return true
		}
	}
	return false
}

// helper is a process that works for a pod or a container, with what names that.
type helper struct {
	Process
	// pod is what the process's environment or its container's configuration names.
	pod pod.Identity
	id  string // of the container or sandbox, "" if that is not known
	// waiting are its threads that were in uninterruptible sleep, or waited for a file system, at
	// each look.
	waiting []proc.Thread
}

// Scan is what all pods share: the processes that work for pods, as they were at one time.
type Scan struct {
	helpers []helper
	hidden  error // why there may be others
}

var errOtherNamespace = errors.New("podctl runs in another PID namespace than the runtime, or without permission")

// maxDepth bounds how far below the runtime its programs are looked for: a CNI plugin starts
// another one for addresses, and may be a script.
const maxDepth = 5

// Scan looks for the processes that work for pods.
func (r *Reader) Scan(ctx context.Context) Scan {
	if !r.SeesProcesses() {
		return Scan{hidden: errOtherNamespace}
	}
	children, err := r.Procs.ByParent()
	if err != nil {
		return Scan{hidden: err}
	}
	s := Scan{}
	r.addPlugins(&s, children, r.Server.PID, maxDepth)
	for _, list := range children {
		for _, p := range list {
			switch {
			case p.IsShim():
				if same, err := r.Procs.Beside(p, r.Server.PID); err != nil || !same {
					continue // its name, arguments and files are those that a container or a user chose
				}
				r.addShim(&s, p, children[p.PID])
			case strings.HasPrefix(p.Comm, "mount"):
				s.helpers = append(s.helpers, r.process(p, RoleMount))
			}
		}
	}
	r.confirmWaits(ctx, s.helpers)
	return s
}

const (
	// moreLooks and lookInterval decide which waits last: every thread that uses a disk waits
	// for it for a moment.
	moreLooks    = 3
	lookInterval = 200 * time.Millisecond
)

// confirmWaits reads the waiting threads of helpers again, and keeps those that wait in the same
// kernel function each time.
func (r *Reader) confirmWaits(ctx context.Context, helpers []helper) {
	for range moreLooks {
		if !slices.ContainsFunc(helpers, func(h helper) bool { return len(h.waiting) > 0 }) {
			return
		}
		select {
		case <-time.After(lookInterval):
		case <-ctx.Done():
			return
		}
		for i := range helpers {
			if h := &helpers[i]; len(h.waiting) > 0 {
				still := r.waitingThreads(h.PID)
				h.waiting = slices.DeleteFunc(h.waiting, func(t proc.Thread) bool { return !slices.Contains(still, t) })
			}
		}
	}
	for i := range helpers {
		helpers[i].setWaitChannel()
	}
}

// setWaitChannel sets the wait channel of the process to that of one of its waiting threads: one in
// uninterruptible sleep before others.
func (h *helper) setWaitChannel() {
	for _, t := range h.waiting {
		blocked := t.State == proc.Uninterruptible
		if blocked && !h.Blocked || !h.WaitsForFiles() {
			h.WaitChannel, h.Blocked = t.WaitChannel, h.Blocked || blocked
		}
	}
}

// waitingThreads returns the threads of a process that are in uninterruptible sleep, or wait for a file
// system.
func (r *Reader) waitingThreads(pid int) []proc.Thread {
	threads, err := r.Procs.Threads(pid)
	if err != nil {
		return nil // it has ended, or is not visible
	}
	return slices.DeleteFunc(threads, func(t proc.Thread) bool {
		return t.State != proc.Uninterruptible && !isFileWait(t.WaitChannel)
	})
}

// The variables by which a runtime tells a CNI plugin what to do.
const (
	cniCommand   = "CNI_COMMAND"
	cniArgs      = "CNI_ARGS"
	cniContainer = "CNI_CONTAINERID"
)

// addPlugins adds the CNI plugins below a process, and the low-level runtimes that it started
// itself, as CRI-O does.
func (r *Reader) addPlugins(s *Scan, children map[int][]proc.Process, parent, depth int) {
	if depth == 0 {
		return
	}
	for _, p := range children[parent] {
		if p.IsShim() {
			continue
		}
		if proc.IsOCIRuntime(p.Comm) && parent == r.Server.PID {
			h := r.process(p, RoleOCI)
			if h.id = lastArg(h.Command); h.id != "" {
				s.helpers = append(s.helpers, h)
			}
			continue
		}
		env, err := r.Procs.Environ(p.PID, cniCommand, cniArgs, cniContainer)
		if err == nil && env[cniCommand] != "" {
			h := r.process(p, RoleCNI)
			h.pod, h.id, h.Verb = podOfArgs(env[cniArgs]), env[cniContainer], env[cniCommand]
			s.helpers = append(s.helpers, h)
		}
		r.addPlugins(s, children, p.PID, depth-1)
	}
}

// podOfArgs reads "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;…".
func podOfArgs(text string) pod.Identity {
	args := map[string]string{}
	for pair := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(pair, "=")
		args[key] = value
	}
	return pod.CNIIdentity(args)
}

// addShim adds a shim, or conmon, and the low-level runtimes below it.
func (r *Reader) addShim(s *Scan, p proc.Process, children []proc.Process) {
	shim := r.process(p, RoleShim)
	flags := proc.Flags(shim.Command)
	shim.id = cmp.Or(flags["id"], flags["c"], flags["cid"])
	shim.pod = podOfBundle(cmp.Or(flags["b"], flags["bundle"], r.Procs.WorkingDir(p.PID)))
	s.helpers = append(s.helpers, shim)
	for _, child := range children {
		if !proc.IsOCIRuntime(child.Comm) {
			continue
		}
		h := r.process(child, RoleOCI)
		h.pod, h.id = shim.pod, shim.id
		if slices.Contains(h.Command, "exec") { // a probe, or somebody's
			continue
		}
		if id := lastArg(h.Command); len(id) == len(shim.id) && id != "" {
			h.id = id
		}
		s.helpers = append(s.helpers, h)
	}
}

// maxSpec bounds the configuration of a container, in bytes.
const maxSpec = 1 << 20

// podOfBundle returns the pod that the configuration of the container of a bundle names.
func podOfBundle(dir string) pod.Identity {
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	text, err := bounded.ReadNoFollow(filepath.Join(dir, "config.json"), maxSpec)
	if err != nil || json.Unmarshal(text, &spec) != nil {
		return pod.Identity{}
	}
	return pod.OCIIdentity(spec.Annotations)
}

// process reads what is needed of a process to judge it.
func (r *Reader) process(p proc.Process, role Role) helper {
	h := helper{Process: Process{Process: p, Role: role}, waiting: r.waitingThreads(p.PID)}
	if channel := r.Procs.WaitChannel(p.PID); !isFileWait(channel) {
		h.WaitChannel = channel
	}
	h.Command, _ = r.Procs.Command(p.PID)
	h.Started, _ = r.Procs.Started(p)
	return h
}

func lastArg(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[len(args)-1]
}
