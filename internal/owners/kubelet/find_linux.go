package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// CheckNone returns an error if a kubelet uses the runtime at the unix socket; it is an
// *UnseenError if one may do so that podctl cannot see. A kubelet on another runtime is
// not an error.
func CheckNone(ctx context.Context, path string) error {
	pid, err := find(ctx, path)
	if pid == 0 {
		return err
	}
	return besideError(path, pid, commandLineOf(pid).exe)
}

// hiddenTries is how often find looks, hiddenPause apart, while clients are hidden: some
// exit, and some have just been started.
const (
	hiddenTries = 5
	hiddenPause = 50 * time.Millisecond
)

// find returns the kubelet that uses the runtime, 0 if none does. The error is an
// *UnseenError if one may do so that podctl cannot see.
func find(ctx context.Context, path string) (pid int, err error) {
	return findAmong(ctx, path, readVisibleProcesses)
}

func findAmong(ctx context.Context, path string, read func() (visibleProcesses, error)) (pid int, err error) {
	for try := 1; ; try++ {
		visible, err := read()
		if err != nil {
			return 0, &UnseenError{Socket: path, Cause: err}
		}
		pids, hidden, err := clientsOfRuntime(ctx, path, visible)
		if err != nil {
			return 0, &UnseenError{Socket: path, Cause: err}
		}
		for _, pid := range pids {
			if isKubelet(commandLineOf(pid)) {
				return pid, nil
			}
		}
		if hidden == 0 {
			return 0, nil
		}
		if try == hiddenTries {
			return 0, &UnseenError{Socket: path, Cause: fmt.Errorf("%d of the runtime's clients are not visible", hidden)}
		}
		time.Sleep(hiddenPause)
	}
}

// visibleProcesses holds the processes that podctl sees, and which may be kubelets.
type visibleProcesses struct {
	pids     []int
	kubelets map[int]commandLine
	// files returns the files of a process.
	files func(pid int) files
}

// readVisibleProcesses reads each process once. A client that starts later is hidden: find
// tries again.
func readVisibleProcesses() (visibleProcesses, error) {
	pids, err := proc.Default.PIDs()
	v := visibleProcesses{pids: pids, kubelets: map[int]commandLine{}, files: filesOf}
	for _, pid := range pids {
		if p := commandLineOf(pid); isKubelet(p) && mayBeKubelet(proc.Default, pid) {
			v.kubelets[pid] = p
		}
	}
	return v, err
}

// runtimeNames returns the runtime endpoints of the kubelets, by pid. A kubelet whose files
// cannot be read is passed over; files that do not answer are an error.
func (v visibleProcesses) runtimeNames(ctx context.Context) (map[int]string, error) {
	return withReadTimeout(ctx, func(ctx context.Context) (map[int]string, error) {
		names := map[int]string{}
		for pid, p := range v.kubelets {
			if pid == os.Getpid() {
				continue
			}
			if s, err := readSettings(p.args, v.files(pid).until(ctx)); err == nil && s.config.RuntimeEndpoint != "" {
				names[pid] = s.config.RuntimeEndpoint
			}
		}
		return names, context.Cause(ctx)
	})
}

// findConfigured returns the kubelet whose configuration names the socket, 0 if none does.
func findConfigured(ctx context.Context, path string) (pid int, err error) {
	visible, err := readVisibleProcesses()
	if err != nil {
		return 0, &UnseenError{Socket: path, Cause: err}
	}
	names, err := visible.runtimeNames(ctx)
	if err != nil {
		return 0, &UnseenError{Socket: path, Cause: err}
	}
	for _, pid := range slices.Sorted(maps.Keys(names)) {
		if proc.ResolvedPath(strings.TrimPrefix(names[pid], "unix://")) == proc.ResolvedPath(path) {
			return pid, nil
		}
	}
	return 0, nil
}

// mayBeKubelet reports whether a process can be the kubelet that its name says:
// every container, and every user of the host, may run a program of that name,
// whose arguments would make podctl take any socket for that of a runtime.
//
// A kubelet mounts volumes: it has CAP_SYS_ADMIN, also in a container, and does not
// start without it. The capability counts in podctl's user namespace only, because
// everyone has all capabilities in a namespace of their own. The mount namespace does
// not decide: kubelets run in containers, and users of the host share podctl's. A
// process that podctl must not examine may be a kubelet.
//
// The kubelet of a runtime is not recognized by this: it is a client of the runtime.
func mayBeKubelet(all proc.FS, pid int) bool {
	p, err := all.Read(pid)
	if err != nil {
		return !errors.Is(err, proc.ErrGone)
	}
	theirs, err := all.Namespace(pid, "user")
	if err != nil {
		return !errors.Is(err, proc.ErrGone)
	}
	ours, err := all.Namespace(os.Getpid(), "user")
	return err != nil || theirs == ours && p.Capabilities.Has(proc.SysAdmin)
}

// commandLineOf returns what is readable of a process: nothing if it has exited.
func commandLineOf(pid int) commandLine {
	args, _ := proc.Default.Command(pid)
	return commandLine{exe: proc.Default.Exe(pid), args: args}
}
