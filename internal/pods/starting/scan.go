package starting

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

// helper is a process that works for a pod or a container, with what names that.
type helper struct {
	Process
	pod podName
	id  string // of the container or sandbox, "" if that is not known
}

// podName is what a process's environment or a container's configuration says of a pod.
type podName struct {
	uid             types.UID
	namespace, name string
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
func (c *Collector) Scan() Scan {
	if same, err := c.Proc.SamePIDNamespace(c.Server.PID); c.Server.PID == 0 || !same || err != nil {
		return Scan{hidden: errOtherNamespace}
	}
	children, err := c.Proc.ByParent()
	if err != nil {
		return Scan{hidden: err}
	}
	s := Scan{}
	c.addPlugins(&s, children, c.Server.PID, maxDepth)
	for _, list := range children {
		for _, p := range list {
			switch {
			case isShim(p.Comm):
				if same, err := c.Proc.SameUserAndMounts(p, c.Server.PID); err != nil || !same {
					continue // its name, arguments and files are those that a container or a user chose
				}
				c.addShim(&s, p, children[p.PID])
			case strings.HasPrefix(p.Comm, "mount"):
				s.helpers = append(s.helpers, helper{Process: c.process(p, RoleMount)})
			}
		}
	}
	return s
}

// The variables by which a runtime tells a CNI plugin what to do.
const (
	cniCommand   = "CNI_COMMAND"
	cniArgs      = "CNI_ARGS"
	cniContainer = "CNI_CONTAINERID"
)

// addPlugins adds the CNI plugins below a process, and the low-level runtimes that it started
// itself, as CRI-O does.
func (c *Collector) addPlugins(s *Scan, children map[int][]proc.Process, parent, depth int) {
	if depth == 0 {
		return
	}
	for _, p := range children[parent] {
		if isShim(p.Comm) {
			continue
		}
		if isOCIRuntime(p.Comm) && parent == c.Server.PID {
			h := helper{Process: c.process(p, RoleOCI)}
			if h.id = lastArg(h.Command); h.id != "" {
				s.helpers = append(s.helpers, h)
			}
			continue
		}
		env, err := c.Proc.Environ(p.PID, cniCommand, cniArgs, cniContainer)
		if err == nil && env[cniCommand] != "" {
			h := helper{Process: c.process(p, RoleCNI), pod: podOfArgs(env[cniArgs]), id: env[cniContainer]}
			h.Verb = env[cniCommand]
			s.helpers = append(s.helpers, h)
		}
		c.addPlugins(s, children, p.PID, depth-1)
	}
}

// podOfArgs reads "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;…".
func podOfArgs(args string) podName {
	var p podName
	for pair := range strings.SplitSeq(args, ";") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "K8S_POD_UID":
			p.uid = types.UID(value)
		case "K8S_POD_NAMESPACE":
			p.namespace = value
		case "K8S_POD_NAME":
			p.name = value
		}
	}
	return p
}

// isOCIRuntime reports whether a process of that name creates and starts containers. runc's
// second process has a name of its own.
func isOCIRuntime(comm string) bool {
	name, _, _ := strings.Cut(comm, ":")
	return slices.Contains([]string{"runc", "crun", "youki", "runsc", "kata-runtime"}, name)
}

// addShim adds a shim, or conmon, and the low-level runtimes below it.
func (c *Collector) addShim(s *Scan, p proc.Process, children []proc.Process) {
	shim := helper{Process: c.process(p, RoleShim)}
	shim.id = flagValue(shim.Command, "-id", "-c", "--cid")
	shim.pod = c.podOfBundle(&shim)
	s.helpers = append(s.helpers, shim)
	for _, child := range children {
		if !isOCIRuntime(child.Comm) {
			continue
		}
		h := helper{Process: c.process(child, RoleOCI), pod: shim.pod, id: shim.id}
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

// podOfBundle returns the pod that the configuration of the shim's container names.
func (c *Collector) podOfBundle(shim *helper) podName {
	dir := c.Proc.WorkingDir(shim.PID)
	if bundle := flagValue(shim.Command, "-b", "--bundle"); bundle != "" {
		dir = bundle
	}
	f, err := bounded.OpenNoFollow(filepath.Join(dir, "config.json"))
	if err != nil {
		return podName{}
	}
	defer func() { _ = f.Close() }() // it is only read
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSpec))
	if err != nil || json.Unmarshal(text, &spec) != nil {
		return podName{}
	}
	for _, keys := range [][3]string{
		{"io.kubernetes.cri.sandbox-uid", "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name"},
		{"io.kubernetes.pod.uid", "io.kubernetes.pod.namespace", "io.kubernetes.pod.name"},
	} {
		if uid := spec.Annotations[keys[0]]; uid != "" {
			return podName{types.UID(uid), spec.Annotations[keys[1]], spec.Annotations[keys[2]]}
		}
	}
	return podName{}
}

// process reads what is needed of a process to judge it.
func (c *Collector) process(p proc.Process, role Role) Process {
	found := Process{Process: p, Role: role, WaitChannel: c.Proc.WaitChannel(p.PID), Blocked: p.State == proc.Uninterruptible}
	found.Command, _ = c.Proc.Command(p.PID)
	found.Started, _ = c.Proc.Started(p)
	if threads, err := c.Proc.Threads(p.PID); err == nil {
		for _, t := range threads {
			if t.State == proc.Uninterruptible && !found.Blocked || isFileWait(t.WaitChannel) && !found.waitsForFiles() {
				found.WaitChannel, found.Blocked = t.WaitChannel, found.Blocked || t.State == proc.Uninterruptible
			}
		}
	}
	return found
}

// flagValue returns the argument after one of the flags, "" if none is there.
func flagValue(args []string, flags ...string) string {
	for i, a := range args {
		if slices.Contains(flags, a) && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

func lastArg(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[len(args)-1]
}
