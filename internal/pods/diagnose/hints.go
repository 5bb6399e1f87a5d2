package diagnose

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/proc"
)

// force returns the last resort of the pod's owner. podctl rm refuses pods of a
// kubelet, which removes them itself once their processes have exited.
func (f Facts) force() []string {
	switch f.Owner {
	case inventory.OwnedByPodctl, inventory.OwnedBySilent, inventory.OwnedBySuspended, inventory.OwnedByExited:
		return []string{"podctl rm --force " + f.Name}
	case inventory.OwnedByKubelet:
		for _, c := range f.Containers {
			if c.known() && !c.Gone && !c.Process.State.Ended() {
				return []string{fmt.Sprintf("kill -KILL %d", c.PID)}
			}
		}
	case inventory.OwnedByOther:
		if f.Sandbox != "" {
			return []string{"crictl rmp --force " + pod.ShortID(f.Sandbox)}
		}
	}
	return nil
}

// orForceShim returns commands, and the last resort for a shim that does not
// work after them: SIGKILL does not reach the runtime through it.
func (f Facts) orForceShim(shim proc.Process, first ...string) []string {
	if f.Owner.IsPodctl() {
		return f.orForce(first...)
	}
	return withKillShim(shim, first...)
}

// withKillShim returns commands, and after them the end of a shim through which nothing can
// be stopped, by podctl rm --force neither. containerd removes the container of a shim that
// has exited.
func withKillShim(shim proc.Process, first ...string) []string {
	if strings.HasPrefix(shim.Comm, "containerd-shim") {
		return append(first, fmt.Sprintf("kill -KILL %d", shim.PID))
	}
	return first
}

// orForce returns commands, and the last resort after them.
func (f Facts) orForce(first ...string) []string { return append(first, f.force()...) }

// hurry ends a grace period early.
func (f Facts) hurry(c Container) []string {
	switch {
	case f.Owner == inventory.OwnedByPodctl:
		return []string{"podctl stop --grace-period 1 " + f.Name}
	case c.PID != 0 && c.known():
		return []string{fmt.Sprintf("kill -KILL %d", c.PID)}
	}
	return f.force()
}

func (f Facts) askRuntime() []string {
	next := []string{"podctl pleg check"}
	if f.Server.LogsGoroutines() {
		next = append(next, fmt.Sprintf("kill -USR1 %d (%s logs its goroutines)", f.Server.PID, f.Server.Comm))
	}
	return f.orForce(next...)
}

func (f Facts) checkNetwork() []string {
	return f.orForce("crictl inspectp " + pod.ShortID(f.Sandbox))
}

// Thaw returns the command that thaws the cgroup of a file that FrozenBy returned.
func Thaw(dir string) string {
	if filepath.Base(dir) == freezerState {
		return "echo THAWED > " + dir
	}
	return "echo 0 > " + dir
}
