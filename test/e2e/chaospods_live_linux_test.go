package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// chaosPod is a pod that is wanted.
type chaosPod struct {
	version string
	kind    string
}

// chaosKinds are what pods do, and their further arguments of life.
var chaosKinds = []struct{ kind, life, spec string }{
	{"serve", "", "terminationGracePeriodSeconds: 5"},
	{"flush", "-flush 2s", "terminationGracePeriodSeconds: 10"},
	{"deaf", "-deaf", "terminationGracePeriodSeconds: 1"},
	{"crash", "-for 700ms -code 1", "terminationGracePeriodSeconds: 2"},
	{"job", "-for 500ms", never},
}

func (c *chaos) names() []string {
	var all []string
	for n := range chaosPods {
		all = append(all, fmt.Sprintf("p%02d", n))
	}
	return all
}

// next makes the next version of a pod the one that is wanted.
func (c *chaos) next(name string) string {
	c.version++
	k := chaosKinds[c.rng.IntN(len(chaosKinds))]
	p := chaosPod{fmt.Sprint(c.version), k.kind}
	c.wanted[name] = p
	// A running pod follows a changed label; a changed command replaces it.
	yaml := c.marked(name, fmt.Sprintf(": version %s; exec /mark/life %s /mark %s", p.version, k.life, name), k.spec)
	yaml = strings.Replace(yaml, "volumes: [", "volumes: [{name: memory, emptyDir: {medium: Memory}}, ", 1)
	yaml = strings.Replace(yaml, "volumeMounts: [", "volumeMounts: [{name: memory, mountPath: /memory}, ", 1)
	return strings.Replace(yaml, "metadata: {", fmt.Sprintf("metadata: {labels: {version: %q}, ", p.version), 1)
}

// churn adds, changes or removes a pod, or several at once.
func (c *chaos) churn() {
	c.t.Helper()
	names := c.names()
	pick := c.rng.IntN(20)
	if pick > 0 {
		c.change(names[c.rng.IntN(len(names))], pick < 6)
		return
	}
	from := c.rng.IntN(len(names) - 3)
	for _, name := range names[from : from+3] {
		c.change(name, c.rng.IntN(2) == 0)
	}
}

func (c *chaos) change(name string, remove bool) {
	c.t.Helper()
	_, there := c.wanted[name]
	switch {
	case there && remove:
		delete(c.wanted, name)
		c.remove(name + ".yaml")
		c.counts["manifests removed"]++
	case there:
		c.put(name+".yaml", c.next(name))
		c.counts["manifests changed"]++
	default:
		c.put(name+".yaml", c.next(name))
		c.counts["manifests added"]++
	}
}

// unsettled says what is not yet as it is wanted; empty, all is.
func (c *chaos) unsettled() string {
	c.t.Helper()
	if c.agent == nil {
		return "no agent"
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	sandboxes, err := c.raw.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return err.Error()
	}
	containers, err := c.raw.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return err.Error()
	}
	ready := map[string]string{} // versions by name
	for _, s := range sandboxes.Items {
		name := s.Metadata.Name
		p, there := c.wanted[name]
		if !there {
			return fmt.Sprintf("%s is not wanted, and has sandbox %s, %s", name, s.Id, s.State)
		}
		if s.State != runtimeapi.PodSandboxState_SANDBOX_READY {
			continue
		}
		if ready[name] != "" || s.Labels["version"] != p.version {
			return fmt.Sprintf("%s has sandboxes of versions %s and %s, wanted is %s", name, ready[name], s.Labels["version"], p.version)
		}
		ready[name] = p.version
	}
	running, created := map[string]int{}, map[string]bool{}
	for _, container := range containers.Containers {
		switch name := container.Labels["io.kubernetes.pod.name"]; container.State {
		case runtimeapi.ContainerState_CONTAINER_RUNNING:
			running[name]++
		case runtimeapi.ContainerState_CONTAINER_CREATED:
			created[name] = true
		}
	}
	if why := c.unexplained(ctx, ready, running, created); why != "" {
		return why
	}
	for _, command := range []string{"orphans", "terminating"} {
		if out, errw, code := c.podctl(command, "-o", "name"); code != 0 || strings.TrimSpace(out) != "" {
			return fmt.Sprintf("podctl %s: exit %d %s%s", command, code, out, errw)
		}
	}
	return ""
}

// unexplained names a pod that does not run, and whose status does not say why.
func (c *chaos) unexplained(ctx context.Context, ready map[string]string, running map[string]int, created map[string]bool) string {
	c.t.Helper()
	list, err := c.control().Pods(ctx)
	if err != nil {
		return err.Error()
	}
	statuses, uids := map[string]v1.PodStatus{}, map[string]bool{}
	for _, p := range list.Items {
		statuses[p.Name] = p.Status
		uids[string(p.UID)] = true
	}
	for _, dir := range glob(c.t, c.path("root/pods/*")) {
		switch _, err := os.Stat(filepath.Join(dir, "podctl.json")); {
		case uids[filepath.Base(dir)]:
		case err != nil:
			// Its record was deleted: no podctl may take it for its own. An agent that was
			// starting the pod may have mounted a volume there after that.
			c.counts["directories that lost their record"]++
			_ = c.removePodDirectory(dir)
		default:
			return fmt.Sprintf("directory %s is that of no pod, and holds %q", dir, glob(c.t, dir+"/*"))
		}
	}
	for name, p := range c.wanted {
		status, there := statuses[name]
		switch {
		case !there:
			return fmt.Sprintf("the agent does not name %s", name)
		case p.kind == "job" && status.Phase == v1.PodPending && created[name] && ready[name] == "":
			// It lost its sandbox before its container was started. As on the kubelet, a
			// pod that is never restarted gets no other sandbox, and stays Pending.
			c.counts["looks at jobs that lost their sandbox before they were started"]++
		case p.kind == "job":
			if status.Phase != v1.PodSucceeded && status.Phase != v1.PodFailed {
				return fmt.Sprintf("%s (%s) of version %s is %s %s: %+v", name, p.kind, p.version, status.Phase, status.Reason, status.ContainerStatuses)
			}
		case ready[name] == "":
			return fmt.Sprintf("%s (%s) of version %s has no ready sandbox: %s %s", name, p.kind, p.version, status.Phase, status.Reason)
		case running[name] > 1:
			return fmt.Sprintf("%s has %d running containers", name, running[name])
		case running[name] == 0 && !waits(status):
			return fmt.Sprintf("%s (%s) of version %s does not run, and waits for nothing: %+v", name, p.kind, p.version, status.ContainerStatuses)
		}
	}
	return ""
}

// waits reports whether the status names a reason why its container waits.
func waits(status v1.PodStatus) bool {
	for _, s := range status.ContainerStatuses {
		if s.State.Waiting != nil && s.State.Waiting.Reason != "" {
			return true
		}
	}
	return false
}
