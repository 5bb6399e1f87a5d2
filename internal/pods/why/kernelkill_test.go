package why

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/pods/view"
)

// kernelRecords are records of the kernel's log without times.
func kernelRecords(texts ...string) []view.KernelRecord {
	var all []view.KernelRecord
	for _, text := range texts {
		all = append(all, view.KernelRecord{Text: text})
	}
	return all
}

func TestKernelKillsByContainerID(t *testing.T) {
	found := kernelKills(kernelRecords(
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/pods/"+id("c")+",task=a,pid=5,uid=0",
		"Out of memory: Killed process 5 (a) total-vm:1kB, anon-rss:2kB, file-rss:0kB",
		"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/pods,task_memcg=/pods/"+id("d")+",task=other,pid=6,uid=0",
		"Memory cgroup out of memory: Killed process 6 (other) total-vm:1kB, anon-rss:3kB, file-rss:0kB",
		"oom-kill:",
	), []string{id("c"), id("e")}, "")
	if len(found) != 1 || found[id("c")] != (kernelKill{process: "a", pid: "5", rss: "2kB", scope: scopeHost, count: 1}) {
		t.Errorf("%+v", found)
	}
}

// The record names the cgroup whose limit was met, which need not be the container's.
func TestShortageIsTheOneThatTheKernelNames(t *testing.T) {
	c, limit := id("c"), uint64(64<<20)
	const uid = "8f73-11"
	for name, test := range map[string]struct{ constraint, limited, task, want string }{
		"container":                 {"MEMCG", "/k/podUID/ID", "/k/podUID/ID", "out of memory at its limit of 64Mi"},
		"a cgroup of the container": {"MEMCG", "/k/podUID/ID/db", "/k/podUID/ID/db", "out of memory at the limit of db, a cgroup within the container"},
		"container, by a part":      {"MEMCG", "/k/podUID/ID", "/k/podUID/ID/db", "out of memory at its limit of 64Mi"},
		"pod":                       {"MEMCG", "/k/podUID", "/k/podUID/ID", "out of memory at the limit of its pod of 128Mi, the sum of its containers' limits: raise the one of a container; its own is 64Mi"},
		"pod, by systemd":           {"MEMCG", "/k.slice/k-pod8f73_11.slice", "/k.slice/k-pod8f73_11.slice/crio-ID.scope", "out of memory at the limit of its pod of 128Mi, the sum of its containers' limits: raise the one of a container; its own is 64Mi"},
		"all pods":                  {"MEMCG", "/k", "/k/podUID/ID", "out of memory at the limit of /k, a cgroup above the container's and not its own"},
		"no cgroup of a pod":        {"MEMCG", "/system.slice", "/system.slice/ID", "out of memory at the limit of /system.slice, a cgroup above the container's and not its own"},
		"host":                      {"NONE", "", "/k/podUID/ID", "the host was out of memory"},
		"NUMA policy":               {"MEMORY_POLICY", "", "/k/podUID/ID", "out of memory on the memory nodes that its cpuset or NUMA policy allows"},
		"cpuset":                    {"CPUSET", "", "/k/podUID/ID", "out of memory on the memory nodes that its cpuset or NUMA policy allows"},
		"not known":                 {"OTHER", "/k", "/k/podUID/ID", "out of memory"},
	} {
		text := "oom-kill:constraint=CONSTRAINT_" + test.constraint + ",nodemask=(null),cpuset=x,mems_allowed=0"
		if test.limited != "" {
			text += ",oom_memcg=" + test.limited
		}
		text += ",task_memcg=" + test.task + ",task=x,pid=5,uid=0"
		text = strings.NewReplacer("UID", uid, "ID", c).Replace(text)
		if got := kernelKills(kernelRecords(text), []string{c}, uid)[c].describe(memoryLimits{own: &limit, pod: new(uint64(128 << 20)), containers: 2}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// In every layout the container, its pod and what is above them are told apart.
func TestShortageInEveryLayout(t *testing.T) {
	c := id("c")
	p := cgrouptest.Pod{UID: "8f73c1d2-0000-4000-8000-000000000001", Class: "burstable"}
	for _, l := range cgrouptest.Layouts() {
		for group, want := range map[string]oomScope{
			l.Container(p, c): scopeContainer, l.Container(p, c) + "/x": scopeSubCgroup, l.Group(p): scopePod, path.Dir(l.Group(p)): scopeAncestor,
		} {
			text := "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=" + group + ",task_memcg=" + l.Container(p, c) + ",task=x,pid=5,uid=0"
			if got := kernelKills(kernelRecords(text), []string{c}, p.UID)[c]; got.scope != want || got.cgroup != group {
				t.Errorf("%s, %s: %+v", l, group, got)
			}
		}
	}
}

// At the limit of a pod it is said first whose limit to raise.
func TestLimitToRaise(t *testing.T) {
	pod := kernelKill{scope: scopePod}
	own, whole := new(uint64(16<<20)), new(uint64(24<<20))
	for want, l := range map[string]memoryLimits{
		"out of memory at its limit of 16Mi":                                                   {own: own, pod: own, containers: 1},
		"out of memory at the limit of its pod of 24Mi: raise limits.memory of spec.resources": {own: whole, pod: whole, podLevel: true, containers: 1},
		"out of memory at the limit of its pod: raise limits.memory of spec.resources":         {podLevel: true, containers: 2},
		"out of memory at the limit of its pod of 24Mi":                                        {pod: whole, containers: 2},
	} {
		if got := pod.describe(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A process can have any name of 15 bytes.
func TestVictimWithHostileName(t *testing.T) {
	process, pid := victimOf("constraint=x,task_memcg=/a,task=x,pid=1,uid=0,pid=41,uid=0")
	if process != "x,pid=1,uid=0" || pid != "41" {
		t.Errorf("%q %q", process, pid)
	}
}

// Other messages of the kernel have names of files in them, and processes can write to its
// log; neither shows a kill.
func TestForgedRecordsShowNoKill(t *testing.T) {
	kill := "oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/pods/" + id("c") + ",task=a,pid=5,uid=0"
	for _, raw := range []string{"4,1,9,-;process '/tmp/" + kill + "' started with executable stack", "12,1,9,-;" + kill} {
		record, ok := view.ParseKernelRecord(raw, time.Time{})
		if found := kernelKills([]view.KernelRecord{record}, []string{id("c")}, ""); !ok || len(found) != 0 {
			t.Errorf("%s: %v, %+v", raw, ok, found)
		}
	}
}

func TestKernelRecordHasTime(t *testing.T) {
	boot := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	r, ok := view.ParseKernelRecord("6,1234,90000000,-;oom-kill:x; y\n SUBSYSTEM=z\n", boot)
	if !ok || !r.Time.Equal(boot.Add(90*time.Second)) || r.Text != "oom-kill:x; y" {
		t.Errorf("%+v, %v", r, ok)
	}
	for _, bad := range []string{"", "6,1;x", "6,1,x,-;y", "no record"} {
		if _, ok := view.ParseKernelRecord(bad, boot); ok {
			t.Errorf("%q is a record", bad)
		}
	}
}

// That a process was killed, and that the container ended by that, are two facts.
func TestKilledProcessIsNotAlwaysTheCause(t *testing.T) {
	end := now.Add(-time.Minute)
	killed := func(ago time.Duration) *kernelKill {
		return &kernelKill{process: "tail", pid: "41", scope: scopeContainer, at: end.Add(-ago), count: 1}
	}
	whole := view.KernelLog{Since: end.Add(-time.Hour), Slack: time.Second}
	ran := exit{reason: "OOMKilled", started: end.Add(-time.Minute), finished: end, limits: memoryLimits{own: new(uint64(64 << 20))}}
	for name, c := range map[string]struct {
		change   func(*exit)
		kind     view.CauseKind
		sure     Confidence
		evidence string
	}{
		"SIGTERM after a kill":              {func(e *exit) { e.code, e.kill = 143, killed(0) }, view.CauseSignal, Unknown, "killed tail (pid 41): out of memory at its limit of 64Mi"},
		"SIGTERM, by the runtime's word":    {func(e *exit) { e.code = 143 }, view.CauseSignal, Unknown, "of the container, or of another one of its pod"},
		"completed, by the runtime's word":  {func(e *exit) { e.code, e.log = 0, whole }, view.CauseCompleted, Observed, "names no process of this container"},
		"completed after a kill":            {func(e *exit) { e.code, e.kill = 0, killed(time.Second) }, view.CauseCompleted, Observed, "killed tail"},
		"its own code after a kill":         {func(e *exit) { e.code, e.kill = 1, killed(0) }, view.CauseExit, Observed, "killed tail"},
		"SIGKILL with a kill":               {func(e *exit) { e.code, e.kill, e.log = 137, killed(time.Second), whole }, view.CauseOOM, Observed, "killed tail"},
		"SIGKILL long after a kill":         {func(e *exit) { e.code, e.kill, e.log = 137, killed(30*time.Second), whole }, view.CauseSignal, Unknown, "30s before the end"},
		"SIGKILL, and the log is not exact": {func(e *exit) { e.code, e.kill, e.log.Slack = 137, killed(30*time.Second), time.Minute }, view.CauseOOM, Observed, "killed tail"},
		"SIGKILL with a kill, the clock a day ahead then": {func(e *exit) {
			e.code, e.kill, e.log = 137, killed(24*time.Hour), whole
		}, view.CauseOOM, Observed, "killed tail"},
		"SIGKILL with a kill, the clock set ahead while it ran": {func(e *exit) {
			e.code, e.kill, e.started, e.read = 137, killed(24*time.Hour), end.Add(-48*time.Hour), end.Add(-23*time.Hour)
		}, view.CauseOOM, Observed, "killed tail"},
		"SIGKILL with a kill, the clock set ahead since": {func(e *exit) {
			e.code, e.kill, e.read = 137, killed(-24*time.Hour), end.Add(25*time.Hour)
		}, view.CauseOOM, Observed, "killed tail"},
		"SIGKILL, by the runtime's word":     {func(e *exit) { e.code = 137 }, view.CauseOOM, Likely, "the runtime reports"},
		"SIGKILL, and the log has no record": {func(e *exit) { e.code, e.log = 137, whole }, view.CauseSignal, Unknown, "names no process of this container"},
		"SIGKILL by the owner's own word":    {func(e *exit) { e.code, e.killing = 137, "the pod was deleted" }, view.CauseStop, Observed, "the runtime reports"},
		"SIGKILL, and another was killed": {func(e *exit) {
			e.code, e.reason, e.otherKills, e.pod = 137, "Error", true, &view.Cgroup{OOMKills: new(uint64(1))}
		}, view.CauseSignal, Unknown, ""},
	} {
		e := ran
		c.change(&e)
		got := causeOf(e)
		evidence := strings.Join(got.Evidence, "; ")
		if got.Kind != c.kind || got.Confidence != string(c.sure) || !strings.Contains(evidence, c.evidence) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Kind != view.CauseOOM && strings.Contains(got.Text, "kernel") {
			t.Errorf("%s: %q", name, got.Text)
		}
	}
}

func id(letter string) string { return strings.Repeat(letter, 64) }

func TestCauseOfExit(t *testing.T) {
	stopped := now.Add(-time.Minute)
	for name, c := range map[string]struct {
		exit exit
		kind view.CauseKind
		sure Confidence
		text string
	}{
		"completed":                    {exit{}, view.CauseCompleted, Observed, "completed"},
		"its own code":                 {exit{code: 3, reason: "Error"}, view.CauseExit, Observed, "returned 3"},
		"command not found":            {exit{code: 127}, view.CauseExit, Observed, "does not find"},
		"not started":                  {exit{code: 128, reason: "StartError"}, view.CauseStart, Observed, "could not start"},
		"OOM by the runtime":           {exit{code: 137, reason: "OOMKilled", limits: memoryLimits{own: new(uint64(64 << 20))}}, view.CauseOOM, Likely, "limit of 64Mi"},
		"OOM by the kernel alone":      {exit{code: 137, reason: "Error", kill: &kernelKill{process: "x", pid: "1"}}, view.CauseOOM, Observed, "out of memory"},
		"OOM of the host":              {exit{code: 137, reason: "Error", kill: &kernelKill{scope: scopeHost}}, view.CauseHostOOM, Observed, "host"},
		"OOM by the cgroup's counter":  {exit{code: 137, pod: &view.Cgroup{OOMKills: new(uint64(1))}}, view.CauseOOM, Likely, "probably by the kernel"},
		"a child was killed, not it":   {exit{code: 1, kill: &kernelKill{}}, view.CauseExit, Observed, "returned 1"},
		"SIGKILL without a trace":      {exit{code: 137, pod: &view.Cgroup{OOMKills: new(uint64(0))}}, view.CauseSignal, Unknown, "nothing shows an OOM kill"},
		"SIGKILL after grace":          {exit{code: 137, stop: stopped, grace: 30 * time.Second, finished: stopped.Add(30 * time.Second)}, view.CauseStop, Likely, "grace period of 30s was over"},
		"SIGKILL before the stop":      {exit{code: 137, stop: stopped, finished: stopped.Add(-time.Second)}, view.CauseSignal, Unknown, "SIGKILL"},
		"SIGTERM by a stop":            {exit{code: 143, stop: stopped, finished: stopped.Add(time.Second)}, view.CauseStop, Likely, "asked to stop"},
		"SIGTERM for a liveness probe": {exit{code: 143, probe: "liveness"}, view.CauseLiveness, Likely, "liveness"},
		"the owner's own word":         {exit{code: 137, killing: "failed liveness probe"}, view.CauseStop, Observed, "failed liveness probe"},
		"a crash":                      {exit{code: 139}, view.CauseCrash, Likely, "SIGSEGV"},
		"another signal":               {exit{code: 129}, view.CauseSignal, Unknown, "SIGHUP"},
		"lost, by the placeholder":     {exit{code: 137, reason: "ContainerStatusUnknown", stop: stopped, finished: stopped}, view.CauseLost, Unknown, "no longer has it"},
		"lost":                         {exit{code: 255, reason: "Unknown"}, view.CauseLost, Unknown, "does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			got := causeOf(c.exit)
			if got.Kind != c.kind || got.Confidence != string(c.sure) || !strings.Contains(got.Text, c.text) {
				t.Errorf("%+v", got)
			}
		})
	}
}
