package main

// ownBug is the prefix of a bug of podctl itself; the rest names its history in internal/node/testdata/histories.
const ownBug = "podctl: "

// mutant is a mistake: it replaces old, which the file has once, by new.
type mutant struct {
	// bug names a known bug that is the same mistake: an issue or pull request that describes it,
	// or one of podctl's own. "" if none is known.
	bug                  string
	name, file, old, new string
}

// mutants are mistakes of each layer that could be made.
var mutants = []mutant{
	// kubernetes#97722: two pods of one full name ran at once while a static pod was updated.
	{"kubernetes#97722", "a pod does not wait for the end of the one that has its name", "internal/worker/names.go",
		"v.Holder = holders[0]", "_ = holders"},
	// kubernetes#107900: a pod that terminated before its start kept later pods of its name from starting.
	{"kubernetes#107900", "a name is never released by its worker", "internal/worker/step.go",
		"m.emit(Name{NameLeave})", ""},
	// kubernetes#15925: the deletion of a pod waited for its image pull.
	{"kubernetes#15925", "a stop does not cancel the operation in flight", "internal/worker/step.go",
		"m.emit(Cancel{})", ""},
	// kubernetes#126021: a termination that failed was not retried: the sandbox went on.
	{"kubernetes#126021", "a failed operation is not repeated", "internal/worker/step.go",
		"m.emit(Wake{retryAfter(m.now, ev.Err)})", "_ = retryAfter"},
	{"", "a container has the shortest grace period", "internal/node/podsync/kill.go",
		"time.Duration(max(left, MinGrace))*time.Second", "MinGrace*time.Second"},
	// podman#22397: containers got SIGKILL at once, whatever their stop timeout.
	{"podman#22397", "containers are killed with their sandbox", "internal/node/podsync/kill.go",
		"if cs.State == pod.Running {\n\t\t\tnames", "if cs.State == pod.Created {\n\t\t\tnames"},
	// kubernetes#93064: a new sandbox got an attempt that was used already.
	{"kubernetes#93064", "a new sandbox has the attempt of the last one", "internal/node/podsync/runsandbox.go",
		"attempt: newest.Attempt + 1", "attempt: newest.Attempt"},
	// kubernetes#118321: a sandbox that exited in a reboot was not replaced: the pod stayed Pending.
	{"kubernetes#118321", "a sandbox that died is not replaced", "internal/node/podsync/runsandbox.go",
		"case newest.State != pod.Running:", "case false:"},
	// kubernetes#23636: a sync with a status from before the last one created a second container.
	{"kubernetes#23636", "an operation goes by a status of before the last one", "internal/node/ops.go",
		"if res.Acted || err != nil {", "if false {"},
	// kubernetes#112814: the old pod went on beside the new one of its name.
	{"kubernetes#112814", "an older pod of the name is not stopped", "internal/node/lifecycle/classify.go",
		"case nameDesired || owner == instance ||", "case owner == instance ||"},
	{"", "a pod does not wait for a foreign one of its name", "internal/node/lifecycle/classify.go",
		"f.Foreign[rival] = p", "_ = rival"},
	// kubernetes#97190: containers that crictl had started were stopped.
	{"kubernetes#97190", "a foreign pod is taken for podctl's", "internal/node/lifecycle/classify.go",
		"if len(p.Sandboxes) == 0 {\n\t\treturn \"\"\n\t}\n\treturn p.Sandboxes[0].Owner", "return \"agent\""},
	// kubernetes#19302: a kubelet that restarted took no containers to run: it started all again.
	{"kubernetes#19302", "what runs is started again instead of adopted", "internal/node/lifecycle/classify.go",
		"f.Adopt = append(f.Adopt, p)", ""},
	// kubernetes#43292: a static pod went on running after its manifest was removed.
	{"kubernetes#43292", "a pod whose manifest is gone goes on", "internal/node/lifecycle/reconcile.go",
		"if _, desired := in.Desired[uid]; !desired {", "if false {"},
	{"", "a pod that is blocked is not tried again", "internal/node/lifecycle/wait.go",
		"|| !now.Before(w.RetryAt)", ""},
	{"", "the lock of a name is kept", "internal/node/carryout.go",
		"n.names.release(lifecycle.Desired{Pod: a.Pod}.FullName())", ""},
	{"", "a drain does not see that a pod has gone", "internal/node/carryout.go",
		"n.pods.dropping--", ""},
	{"", "a stop by name of a pod that starts is forgotten", "internal/node/hold.go",
		"stopped := e != nil && e.record.StayStopped", "stopped := false && e.record.StayStopped"},
	// kubernetes#51142: a container that had finished ran again once the runtime had forgotten it, with restartPolicy Never.
	{"kubernetes#51142", "the end of a job is not recorded", "internal/node/ops.go",
		"if res.Terminal {", "if false {"},
	{"", "logs stay", "internal/node/remove.go",
		"if !r.keepLogs {", "if false {"},
	{"podctl: killed-before-logs", "leftovers of a name are found by logs alone", "internal/node/leftover.go",
		"if u.record.Name == d.Pod.Name &&", "if false &&"},
	{"", "the cgroup of a pod that never ran stays", "internal/node/remove.go",
		"if err := r.cgroups.Remove(ctx, p.UID); err != nil {", "if err := ctx.Err(); err != nil {"},
	// kubernetes#67923: pods stayed Running without containers: no PLEG event came.
	{"kubernetes#67923", "the PLEG does not report that a container died", "internal/pleg/diff.go",
		"case new == exited:\n\t\treturn []EventType{ContainerDied}", "case new == exited:\n\t\treturn nil"},
	{"podctl: stale-list-before-a-start", "a list that lacks what podctl created is believed", "internal/cri/ownchanges.go",
		"for id, sandbox := range created {\n\t\terr :=", "for id, sandbox := range map[string]string{} {\n\t\terr :="},
	// kubernetes#69060: a container in unknown state was started again while it could still run.
	{"kubernetes#69060", "a container that is unknown is started beside itself", "internal/node/podsync/actions.go",
		"if last == nil || last.State != pod.Unknown {", "if true || last == nil {"},
	// kubernetes#121003: GetNewerThan did not wait for a newer status: containers were created twice.
	{"kubernetes#121003", "the PLEG's cache takes a status for new that is not", "internal/pleg/cache.go",
		"e.unread = true", "e.unread = false"},
	// containerd#12438: RunPodSandbox timed out, and each retry failed as the name was reserved.
	{"containerd#12438", "a sandbox whose name is taken is tried with the same attempt again", "internal/node/podsync/runsandbox.go",
		"try == maxReserved", "try >= 0"},
	// kubernetes#94085: CreateContainer timed out, and each retry failed as the name was reserved.
	{"kubernetes#94085", "a container whose name is taken is tried with the same attempt again", "internal/node/podsync/start.go",
		"try == maxReserved", "try >= 0"},
	// kubernetes#104648: a static pod that was removed and created again with its UID did not start.
	{"kubernetes#104648", "a pod that is created again with its UID is not forgotten", "internal/worker/step.go",
		"if m.s.Orphan || m.s.Recreate {", "if m.s.Orphan {"},
	// kubernetes#92613: a pod that had completed got another sandbox, without a container to start.
	{"kubernetes#92613", "a sandbox is created with no container to start", "internal/node/podsync/actions.go",
		"len(start) == 0 && anyRegularCreated(v, st)", "false"},
	{"podctl: preempted-after-its-end", "a pod that has only leftovers is preempted", "internal/node/table.go",
		"e.Leaving() && !t.workers.IsPodKnown(e.UID()) // its leftovers", "false // its leftovers"},
	{"podctl: unknown-after-a-slow-start", "a created container that is unknown keeps its status", "internal/pleg/diff.go",
		"c.State == pod.Unknown && slices", "false && slices"},
	{"podctl: restarts-while-the-clock-is-behind", "a crash back-off does not hold where the runtime's clock is behind", "internal/node/podsync/backoff.go",
		"if early || finished", "if false && early || finished"},
	{"podctl: evicted-on-a-full-disk", "a record that cannot be written leaves a directory", "internal/node/poddir/recordfile.go",
		"_ = os.Remove(podDir)", "_ = podDir"},
}

// unlikeKubelet are mistakes in what a runtime is asked, and when. A comparison with a kubelet
// (test/twin) has to show each.
var unlikeKubelet = []mutant{
	{"", "skipped-hook", "internal/node/podsync/kill.go",
		"hook != nil && left > 0 && k.m.beginHook(k.id)", "hook != nil && left < 0 && k.m.beginHook(k.id)"},
	{"", "dropped-field", "internal/node/render/resources.go",
		"r.OomScoreAdj = score", "_ = score"},
	{"", "second-late", "internal/node/podsync/image.go",
		"image, err := r.opt.Runtime.ImageStatus(ctx, name)", "time.Sleep(time.Second)\n\timage, err := r.opt.Runtime.ImageStatus(ctx, name)"},
	{"", "restarted-success", "internal/node/podsync/restart.go",
		"case v1.RestartPolicyOnFailure:\n\t\treturn exitCode != 0", "case v1.RestartPolicyOnFailure:\n\t\treturn true"},
}
