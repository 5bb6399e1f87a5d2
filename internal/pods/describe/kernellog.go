package describe

import (
	"fmt"
	"strings"
)

// kernelKill is a process of a container that the kernel's OOM killer killed.
type kernelKill struct {
	process string
	pid     string
	rss     string // anonymous memory that it had, as the kernel prints it
	// global: the host was out of memory, not a cgroup.
	global bool
}

func (k kernelKill) text() string {
	text := fmt.Sprintf("the kernel's log: killed %s (pid %s)", k.process, k.pid)
	if k.rss != "" {
		text += ", anonymous memory " + k.rss
	}
	return text
}

// kernelKills returns the last OOM kill of each container in ids, by its id, from records of
// the kernel's log.
//
//	oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/pods/ID,task_memcg=/pods/ID,task=tail,pid=41,uid=0
//	Memory cgroup out of memory: Killed process 41 (tail) total-vm:…, anon-rss:65536kB, …
func kernelKills(records []string, ids []string) map[string]kernelKill {
	found := map[string]kernelKill{}
	last := "" // id of the record before
	for _, record := range records {
		if _, fields, ok := strings.Cut(record, "oom-kill:"); ok {
			last = ""
			for _, id := range ids {
				if group := field(fields, "task_memcg="); group != "" && strings.Contains(group, id) {
					last = id
					found[id] = kernelKill{
						process: field(fields, "task="), pid: field(fields, "pid="),
						global: field(fields, "constraint=") == "CONSTRAINT_NONE",
					}
				}
			}
			continue
		}
		_, killed, ok := strings.Cut(record, "Killed process ")
		if k := found[last]; ok && last != "" && strings.HasPrefix(killed, k.pid+" ") {
			k.rss = field(killed, "anon-rss:")
			found[last] = k
			last = ""
		}
	}
	return found
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
