package main

// mutant is a mistake: in a file, old is new.
type mutant struct {
	name, file, old, new string
}

// mutants are mistakes of each layer that could be made.
var mutants = []mutant{
	{"a pod does not wait for the end of the one that has its name", "internal/worker/names.go",
		"v.Holder = holders[0]", "_ = holders"},
	{"a name is never released by its worker", "internal/worker/step.go",
		"m.emit(Name{NameLeave})", ""},
	{"a stop does not cancel the operation in flight", "internal/worker/step.go",
		"m.emit(Cancel{})", ""},
	{"a failed operation is not repeated", "internal/worker/step.go",
		"m.emit(Wake{retryAfter(m.now, ev.Err)})", "_ = retryAfter"},
	{"a container has the shortest grace period", "internal/node/podsync/kill.go",
		"time.Duration(max(left, MinGrace))*time.Second", "MinGrace*time.Second"},
	{"containers are killed with their sandbox", "internal/node/podsync/kill.go",
		"if cs.State == pod.Running {\n\t\t\tnames", "if cs.State == pod.Created {\n\t\t\tnames"},
	{"a new sandbox has the attempt of the last one", "internal/node/podsync/runsandbox.go",
		"attempt: newest.Attempt + 1", "attempt: newest.Attempt"},
	{"a sandbox that died is not replaced", "internal/node/podsync/runsandbox.go",
		"case newest.State != pod.Running:", "case false:"},
	{"an operation goes by a status of before the last one", "internal/node/ops.go",
		"if res.Acted || err != nil {", "if false {"},
	{"an older pod of the name is not stopped", "internal/node/lifecycle/classify.go",
		"case nameDesired || owner == instance ||", "case owner == instance ||"},
	{"a pod does not wait for a foreign one of its name", "internal/node/lifecycle/classify.go",
		"f.Foreign[rival] = p", "_ = rival"},
	{"a foreign pod is taken for podctl's", "internal/node/lifecycle/classify.go",
		"if len(p.Sandboxes) == 0 {\n\t\treturn \"\"\n\t}\n\treturn p.Sandboxes[0].Owner", "return \"agent\""},
	{"what runs is started again instead of adopted", "internal/node/lifecycle/classify.go",
		"f.Adopt = append(f.Adopt, p)", ""},
	{"a pod whose manifest is gone goes on", "internal/node/lifecycle/reconcile.go",
		"if _, desired := in.Desired[uid]; !desired {", "if false {"},
	{"a pod that is blocked is not tried again", "internal/node/lifecycle/wait.go",
		"|| !now.Before(w.RetryAt)", ""},
	{"the lock of a name is kept", "internal/node/carryout.go",
		"n.names.release(lifecycle.Desired{Pod: a.Pod}.FullName())", ""},
	{"a drain does not see that a pod has gone", "internal/node/carryout.go",
		"n.pods.dropping--", ""},
	{"a stop by name of a pod that starts is forgotten", "internal/node/hold.go",
		"stopped := e != nil && e.record.StayStopped", "stopped := false && e.record.StayStopped"},
	{"the end of a job is not recorded", "internal/node/ops.go",
		"if res.Terminal {", "if false {"},
	{"logs stay", "internal/node/remove.go",
		"if !r.keepLogs {", "if false {"},
	{"leftovers of a name are found by logs alone", "internal/node/leftover.go",
		"if u.record.Name == d.Pod.Name &&", "if false &&"},
	{"the cgroup of a pod that never ran stays", "internal/node/remove.go",
		"if err := r.cgroups.Remove(ctx, p.UID); err != nil {", "if err := ctx.Err(); err != nil {"},
	{"the PLEG does not report that a container died", "internal/pleg/diff.go",
		"case new == exited:\n\t\treturn []EventType{ContainerDied}", "case new == exited:\n\t\treturn nil"},
	{"a list that lacks what podctl created is believed", "internal/cri/ownchanges.go",
		"for id, sandbox := range created {\n\t\terr :=", "for id, sandbox := range map[string]string{} {\n\t\terr :="},
	{"a container that is unknown is started beside itself", "internal/node/podsync/actions.go",
		"if last == nil || last.State != pod.Unknown {", "if true || last == nil {"},
	{"the PLEG's cache takes a status for new that is not", "internal/pleg/cache.go",
		"e.unread = true", "e.unread = false"},
}

// unlikeKubelet are mistakes in what a runtime is asked, and when. A comparison with a kubelet
// (test/twin) has to show each.
var unlikeKubelet = []mutant{
	{"skipped-hook", "internal/node/podsync/kill.go",
		"hook != nil && left > 0 && k.m.beginHook(k.id)", "hook != nil && left < 0 && k.m.beginHook(k.id)"},
	{"dropped-field", "internal/node/render/resources.go",
		"r.OomScoreAdj = score", "_ = score"},
	{"second-late", "internal/node/podsync/image.go",
		"image, err := r.opt.Runtime.ImageStatus(ctx, name)", "time.Sleep(time.Second)\n\timage, err := r.opt.Runtime.ImageStatus(ctx, name)"},
	{"restarted-success", "internal/node/podsync/restart.go",
		"case v1.RestartPolicyOnFailure:\n\t\treturn exitCode != 0", "case v1.RestartPolicyOnFailure:\n\t\treturn true"},
}
