package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/sys/plural"
)

// maxNames is how many names an evidence lists.
const maxNames = 5

// firstNames returns the first names, and how many more there are.
func firstNames(names []string) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

func checkPods(f Facts, r *report) {
	p := f.Pods
	if p.Err != nil {
		r.fail("", "pods cannot be listed: %v", p.Err)
		return
	}
	if len(p.Abandoned) > 0 {
		r.name = "pods.orphans"
		r.warn("podctl orphans", "the podctl process of %s has exited", firstNames(p.Abandoned))
	}
	if len(p.Headless) > 0 {
		r.name = "pods.sandboxes"
		r.warn("podctl terminating", "containers run without a ready sandbox: %s", firstNames(p.Headless))
	}
	if len(p.Hanging) > 0 {
		r.name = "pods.starting"
		r.warn("podctl starting", "pods do not start: %s", firstNames(p.Hanging))
	}
	if len(p.Broken) > 0 {
		r.name = "pods.processes"
		r.warn(p.BrokenNext, "%s", firstNames(p.Broken))
	}
	if len(p.Denied) > 0 {
		r.name = "pods.denied"
		r.warn("podctl describe POD; "+why.KernelDenied, "the kernel's log: containers were denied %s; a deny rule and seccomp's ERRNO leave no record", strings.Join(p.Denied[:min(len(p.Denied), maxNames)], "; "))
	}
	if len(p.TakenPorts) > 0 {
		r.name = "pods.host-ports"
		r.warn("ss -ltnup", "%s", firstNames(p.TakenPorts))
	}
	if len(p.Doubled) > 0 {
		r.name = "pods.sandboxes"
		r.warn("podctl describe "+p.Doubled[0], "more than one sandbox is ready of %s", firstNames(p.Doubled))
	}
	if len(p.Abandoned)+len(p.Headless)+len(p.Hanging)+len(p.Broken)+len(p.Doubled)+len(p.Denied)+len(p.TakenPorts) == 0 {
		r.ok("%s, %d running, %d dead", plural.Of(p.Count, "pod"), p.Running, p.Dead)
	}
}

// checkLeaks counts what sandboxes and containers left; podctl orphans lists what has leaked.
func checkLeaks(f Facts, r *report) {
	leaks := f.Pods.Leaks
	if f.Pods.Err != nil || !leaks.Examined {
		return // see checkLeakScan
	}
	var leaked []leak.Thing
	for _, l := range leaks.Leaks {
		leaked = append(leaked, l.Things...)
	}
	if len(leaked) > 0 {
		r.warn("podctl orphans", "of nothing that the runtime lists: %s", countKinds(leaked))
	}
	if len(leaks.Unlisted) > 0 {
		text := countKinds(leaks.Unlisted)
		if leaks.Other != "" {
			text += "; another runtime may be on this host: " + leaks.Other
		}
		r.info("of nothing that this runtime lists, which another client or runtime may have: %s", text)
	}
	if len(leaked)+len(leaks.Unlisted) == 0 {
		r.ok("nothing of a sandbox or container that is gone")
	}
}

// countKinds is "1 shim, 2 mounts".
func countKinds(things []leak.Thing) string {
	var counts []string
	for _, kind := range leak.Kinds() {
		n := 0
		for _, t := range things {
			if t.Kind == kind {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, plural.Of(n, string(kind)))
		}
	}
	return strings.Join(counts, ", ")
}

// checkLeakScan says what kept podctl from looking for leaks.
func checkLeakScan(f Facts, r *report) {
	leaks := f.Pods.Leaks
	switch {
	case f.Pods.Err != nil:
	case f.Pods.LeaksErr != nil:
		r.warn("", "shims, mounts, namespaces and addresses of pods that are gone cannot be looked for: %v", f.Pods.LeaksErr)
	case len(leaks.Unread) > 0 && !leaks.Examined:
		r.info("shims, mounts, namespaces and addresses of pods that are gone are not looked for: %s", strings.Join(leaks.Unread, "; "))
	case len(leaks.Unread) > 0:
		r.info("not all of what pods may have left can be read: %s", strings.Join(leaks.Unread, "; "))
	}
}

func checkKubelet(f Facts, r *report) {
	k := f.Kubelet
	switch {
	case k.Err != nil:
		r.info("whether a kubelet uses this runtime is not known: %v", k.Err)
	case k.PID == 0:
		r.ok("no kubelet uses this runtime")
	case k.SettingsErr != nil:
		r.info("kubelet (pid %d) uses this runtime; its settings cannot be read: %v", k.PID, k.SettingsErr)
	default:
		r.info("kubelet (pid %d) uses this runtime: podctl run and agent refuse to start beside it, because it would terminate their pods", k.PID)
	}
}

// checkKubeletFiles says which files of the kubelet podctl reads.
func checkKubeletFiles(f Facts, r *report) {
	k := f.Kubelet
	if k.PID == 0 || k.SettingsErr != nil {
		return
	}
	r.ok("root directory %s, configuration %s, static pods %s", k.RootDir, cmp.Or(k.ConfigFile, "by flags"), cmp.Or(k.StaticPods, "none"))
}

// checkKubeletPods says how the kubelet is asked for its pods.
func checkKubeletPods(f Facts, r *report) {
	k := f.Kubelet
	switch {
	case k.PID == 0 || k.SettingsErr != nil:
	case k.AskErr != nil:
		r.warn("give podctl a service account with the verb get of nodes/pods, or pass --kubelet with --kubelet-token-file to orphans",
			"the kubelet (pid %d) does not name its pods, so that podctl cannot say which of them it desires: %s", k.PID, strings.ReplaceAll(k.AskErr.Error(), "\n", "; "))
	default:
		r.ok("%s, asked at %s with %s", plural.Of(k.PodCount, "pod"), k.Server, k.Credential)
	}
}

func checkPodctl(f Facts, r *report) {
	if !f.IsRoot {
		r.info("not run as root: processes, mounts and file systems of others are seen in part")
	}
	if len(f.Pods.Podctls) > 0 {
		r.ok("running on this runtime: %s", firstNames(f.Pods.Podctls))
	}
	r.ok("%s", f.Podctl)
}
