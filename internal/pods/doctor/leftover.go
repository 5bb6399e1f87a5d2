package doctor

import (
	"cmp"
	"fmt"
	"strings"
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

// plural is "1 pod" or "2 pods".
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func checkPods(f Facts, r *report) {
	p := f.Pods
	if p.Err != nil {
		r.fail("", "pods cannot be listed: %v", p.Err)
		return
	}
	if len(p.Abandoned) > 0 {
		r.warn("podctl orphans", "the podctl process of %s has exited", firstNames(p.Abandoned))
	}
	if len(p.Headless) > 0 {
		r.warn("podctl terminating", "containers run without a ready sandbox: %s", firstNames(p.Headless))
	}
	if len(p.Abandoned)+len(p.Headless) == 0 {
		r.ok("%s, %d running, %d dead", plural(p.Count, "pod"), p.Running, p.Dead)
	}
}

func checkShims(f Facts, r *report) {
	if !f.Pods.Examined {
		r.info("shims cannot be told apart here: it takes containerd, root, and the runtime's PID namespace")
		return
	}
	if len(f.Pods.Shims) == 0 {
		r.ok("every shim belongs to a listed sandbox or container")
		return
	}
	var names []string
	for _, s := range f.Pods.Shims {
		names = append(names, fmt.Sprintf("pid %d (%.13s)", s.PID, s.ID))
	}
	r.warn("restart containerd, which reconnects to its shims or ends them", "shims of nothing that the runtime lists: %s", firstNames(names))
}

func checkMounts(f Facts, r *report) {
	if !f.Pods.Examined {
		return
	}
	if len(f.Pods.Mounts) == 0 {
		r.ok("every root file system belongs to a listed sandbox or container")
		return
	}
	r.warn("umount them; their containers are gone", "root file systems of nothing that the runtime lists: %s", firstNames(f.Pods.Mounts))
}

func checkNamespaces(f Facts, r *report) {
	p := f.Pods
	switch {
	case p.Err != nil:
	case p.NamespaceDir == "":
		r.info("network namespaces are kept among those of other programs, and cannot be assigned")
	case p.Namespaces > p.Sandboxes:
		r.warn("ip netns list; umount and remove those of no sandbox", "%s holds %s for %s: at least %d too many", p.NamespaceDir, plural(p.Namespaces, "network namespace"), plural(p.Sandboxes, "sandbox"), p.Namespaces-p.Sandboxes)
	default:
		r.ok("%s for %s in %s", plural(p.Namespaces, "network namespace"), plural(p.Sandboxes, "sandbox"), p.NamespaceDir)
	}
}

// checkLeases says which addresses are held for nothing. A network without free addresses
// starts no pod.
func checkLeases(f Facts, r *report) {
	p := f.Pods
	if p.Err != nil {
		return
	}
	var gone, unknown []string
	for _, l := range p.Leases {
		text := fmt.Sprintf("%s of network %s (%.13s)", l.Address, l.Network, l.ID)
		if l.Gone {
			gone = append(gone, text)
		} else {
			unknown = append(unknown, text)
		}
	}
	if len(gone) > 0 {
		r.warn("remove the files of these addresses below "+leaseDir+", or below dataDir of their network", "addresses of nothing that the runtime lists, whose network namespaces are gone: %s", firstNames(gone))
	}
	if len(unknown) > 0 {
		r.info("addresses of nothing that this runtime lists, which another runtime may have: %s", firstNames(unknown))
	}
	switch {
	case !p.LeasesComplete:
		r.info("the addresses that host-local holds cannot all be read here: it takes root, the runtime's PID and mount namespaces, and no more than %d addresses", maxLeases)
	case len(p.Leases) == 0:
		r.ok("each of %s that host-local holds is of a listed sandbox", plural(p.LeasesRead, "address"))
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
		r.ok("%s, asked at %s with %s", plural(k.PodCount, "pod"), k.Server, k.Credential)
	}
}

func checkPodctl(f Facts, r *report) {
	if !f.IsRoot {
		r.info("not run as root: processes, mounts and file systems of others are seen in part")
	}
	if len(f.Pods.Podctls) > 0 {
		r.ok("running on this runtime: %s", firstNames(f.Pods.Podctls))
	}
}
