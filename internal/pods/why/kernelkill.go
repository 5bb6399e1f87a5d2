package why

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

// oomScope is the scope that ran out of memory.
type oomScope uint8

// The zero value is an unknown scope.
const (
	scopeContainer   oomScope = iota + 1 // at the limit of the container
	scopeSubCgroup                       // at that of a cgroup that the container made
	scopePod                             // at that of its pod
	scopeAncestor                        // at that of a cgroup above its pod
	scopeHost                            // the host had none
	scopeMemoryNodes                     // the memory nodes had none that its cpuset or NUMA policy allows
)

// kernelKill is a process of a container that the kernel's OOM killer killed.
type kernelKill struct {
	process string
	pid     string
	rss     string // anonymous memory that it had, as the kernel prints it
	at      time.Time
	scope   oomScope
	cgroup  string // the cgroup whose limit was reached, "" if none was
	count   int    // kills of processes of the container, this one included
}

func (k kernelKill) text() string {
	text := fmt.Sprintf("the kernel's log: killed %s (pid %s)", k.process, k.pid)
	if k.rss != "" {
		text += ", anonymous memory " + k.rss
	}
	if k.cgroup != "" && k.scope != scopeContainer {
		text += ", at the limit of " + k.cgroup
	}
	if k.count > 1 {
		text += fmt.Sprintf(", the last of %d of its processes", k.count)
	}
	return text
}

// memoryLimits are the limits of memory that a container is below, in bytes; nil is unknown.
type memoryLimits struct {
	own, pod *uint64
	// podLevel: the pod has a limit in its spec; else its cgroup has the sum of those of its
	// containers, of which there are so many that run together.
	podLevel   bool
	containers int
}

// describe returns the text of the scope that ran out of memory: whose limit it is, and which
// one to raise.
func (k kernelKill) describe(l memoryLimits) string {
	const lack = "out of memory"
	of := func(limit *uint64) string {
		if limit == nil {
			return ""
		}
		return " of " + usage.Bytes(*limit)
	}
	switch k.scope {
	case scopeContainer:
		return lack + " at its limit" + of(l.own)
	case scopeSubCgroup:
		return lack + " at the limit of " + path.Base(k.cgroup) + ", a cgroup within the container"
	case scopePod:
		switch {
		case l.podLevel:
			return lack + " at the limit of its pod" + of(l.pod) + ": raise limits.memory of spec.resources"
		case l.containers == 1 && l.own != nil: // its pod has the same
			return lack + " at its limit" + of(l.own)
		case l.own == nil:
			return lack + " at the limit of its pod" + of(l.pod)
		}
		return lack + " at the limit of its pod" + of(l.pod) + ", the sum of its containers' limits: raise the one of a container; its own is " + usage.Bytes(*l.own)
	case scopeAncestor:
		return lack + " at the limit of " + k.cgroup + ", a cgroup above the container's and not its own"
	case scopeHost:
		return "the host was out of memory"
	case scopeMemoryNodes:
		return "out of memory on the memory nodes that its cpuset or NUMA policy allows"
	}
	return lack
}

// kernelKills returns the last OOM kill of each container in ids, by its id. uid is that
// of their pod.
//
//	oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/pods/ID,task_memcg=/pods/ID,task=tail,pid=41,uid=0
//	Memory cgroup out of memory: Killed process 41 (tail) total-vm:…, anon-rss:65536kB, …
func kernelKills(records []view.KernelRecord, ids []string, uid string) map[string]kernelKill {
	found := map[string]kernelKill{}
	last := "" // id of the record before
	for _, record := range records {
		if fields, ok := strings.CutPrefix(record.Text, "oom-kill:"); ok {
			last = ""
			task := field(fields, "task_memcg=")
			if i := slices.IndexFunc(ids, func(id string) bool { return cgroupUpToID(task, id) != "" }); i >= 0 {
				last = ids[i]
				k := kernelKill{at: record.Time, count: found[last].count + 1}
				k.process, k.pid = victimOf(fields)
				k.scope, k.cgroup = oomScopeOf(fields, last, uid)
				found[last] = k
			}
			continue
		}
		_, killed, ok := strings.Cut(record.Text, "Killed process ")
		if k := found[last]; ok && last != "" && strings.HasPrefix(killed, k.pid+" ") {
			k.rss = field(killed, "anon-rss:")
			found[last] = k
			last = ""
		}
	}
	return found
}

// victimOf returns the name and the PID of the process that was killed. A process can
// name itself ",pid=1".
func victimOf(fields string) (process, pid string) {
	_, rest, _ := strings.Cut(fields, ",task=")
	if i := strings.LastIndex(rest, ",pid="); i >= 0 {
		process, rest = rest[:i], rest[i+len(",pid="):]
	}
	pid, _, _ = strings.Cut(rest, ",")
	return process, pid
}

// oomScopeOf returns the scope that ran out of memory, and the cgroup whose limit was reached.
func oomScopeOf(fields, id, uid string) (of oomScope, group string) {
	switch field(fields, "constraint=") {
	case "CONSTRAINT_NONE":
		return scopeHost, ""
	case "CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY":
		return scopeMemoryNodes, ""
	case "CONSTRAINT_MEMCG":
	default:
		return 0, ""
	}
	group = field(fields, "oom_memcg=")
	container := cgroupUpToID(field(fields, "task_memcg="), id)
	switch pod := path.Dir(container); {
	case group == "":
		return 0, ""
	case group == container:
		return scopeContainer, group
	case strings.HasPrefix(group, container+"/"):
		return scopeSubCgroup, group
	case group == pod && isPodCgroup(path.Base(pod), uid):
		return scopePod, group
	}
	return scopeAncestor, group
}

// cgroupUpToID returns the path of a cgroup up to the first element that contains the id, "" if
// none does.
func cgroupUpToID(group, id string) string {
	i := strings.Index(group, id)
	if i < 0 {
		return ""
	}
	if end := strings.Index(group[i:], "/"); end >= 0 {
		return group[:i+end]
	}
	return group
}

// isPodCgroup reports whether the name of a cgroup contains the UID of a pod, with underscores for
// dashes as in systemd's slices.
func isPodCgroup(name, uid string) bool {
	return uid != "" && (strings.Contains(name, uid) || strings.Contains(name, strings.ReplaceAll(uid, "-", "_")))
}

// field returns the value after a key, up to the next comma.
func field(text, key string) string {
	for at := 0; ; {
		i := strings.Index(text[at:], key)
		if i < 0 {
			return ""
		}
		at += i
		if at > 0 && text[at-1] != ',' && text[at-1] != ' ' { // the end of another key
			at += len(key)
			continue
		}
		value, _, _ := strings.Cut(text[at+len(key):], ",")
		return strings.TrimSpace(value)
	}
}
