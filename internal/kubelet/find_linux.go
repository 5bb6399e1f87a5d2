package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/podctl/podctl/internal/proc"
)

// CheckNone returns a *BesideError if another process that is a kubelet uses the
// runtime at the unix socket, and an *UnseenError if one may do so that podctl cannot
// see. A kubelet on another runtime is not an error.
func CheckNone(ctx context.Context, path string) error {
	pid, err := find(ctx, path)
	if pid == 0 {
		return err
	}
	return &BesideError{Socket: path, PID: pid, Exe: commandLineOf(pid).exe}
}

// hiddenTries bounds the wait for clients that come and go, hiddenPause apart.
const (
	hiddenTries = 5
	hiddenPause = 50 * time.Millisecond
)

// find returns the kubelet that uses the runtime, 0 if none does. The error is an
// *UnseenError if one may do so that podctl cannot see.
func find(ctx context.Context, path string) (pid int, err error) {
	return findAmong(ctx, path, readNeighbours)
}

func findAmong(ctx context.Context, path string, read func() (neighbours, error)) (pid int, err error) {
	for try := 1; ; try++ {
		near, err := read()
		if err != nil {
			return 0, &UnseenError{Socket: path, Cause: err}
		}
		pids, hidden, err := connected(ctx, path, near)
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

// neighbours are the visible processes, and which of them may be kubelets.
type neighbours struct {
	pids     []int
	kubelets map[int]commandLine
	// files are those of a process.
	files func(pid int) files
}

// readNeighbours reads each process once. A client that starts later is hidden: find
// tries again.
func readNeighbours() (neighbours, error) {
	pids, err := proc.Default.PIDs()
	n := neighbours{pids: pids, kubelets: map[int]commandLine{}, files: filesOf}
	for _, pid := range pids {
		if p := commandLineOf(pid); isKubelet(p) && mayBeKubelet(proc.Default, pid) {
			n.kubelets[pid] = p
		}
	}
	return n, err
}

// runtimeNames returns the runtime endpoints of the kubelets. One whose files
// cannot be read has none; one whose files do not answer is an error.
func (n neighbours) runtimeNames(ctx context.Context) ([]string, error) {
	return inTime(ctx, func(ctx context.Context) (names []string, err error) {
		for pid, p := range n.kubelets {
			if pid == os.Getpid() {
				continue
			}
			if s, err := readSettings(p.args, n.files(pid).until(ctx)); err == nil && s.config.RuntimeEndpoint != "" {
				names = append(names, s.config.RuntimeEndpoint)
			}
		}
		return names, context.Cause(ctx)
	})
}

// mayBeKubelet reports whether a process can be the kubelet that its name says:
// every container, and every user of the host, may run a program of that name,
// whose arguments would make podctl take any socket for that of a runtime.
//
// A kubelet mounts volumes: it has CAP_SYS_ADMIN, also in a container, and without
// it the kubelet does not start. The capability counts in podctl's user namespace
// only, because everyone has all capabilities in a namespace of their own. The
// mount namespace does not decide: kubelets run in containers, and users of the
// host share podctl's. A process that must not be examined may be one.
//
// This is not how the kubelet of a runtime is recognized: it is a client of it,
// whatever it may do.
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

// commandLineOf reads what is readable; a process that has exited is no kubelet.
func commandLineOf(pid int) commandLine {
	args, _ := proc.Default.Command(pid)
	return commandLine{exe: proc.Default.Exe(pid), args: args}
}
