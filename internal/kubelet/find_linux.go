package kubelet

import (
	"fmt"
	"os"
	"time"

	"github.com/podctl/podctl/internal/proc"
)

// CheckNone returns a *BesideError if another process that is a kubelet uses the
// runtime at the unix socket. A kubelet on another runtime is not an error, nor
// is one that podctl cannot see.
func CheckNone(path string) error {
	pid, _ := find(path)
	if pid == 0 {
		return nil
	}
	return &BesideError{Socket: path, PID: pid, Exe: readProcess(pid).exe}
}

// hiddenTries bounds the wait for clients that come and go, hiddenPause apart.
const (
	hiddenTries = 5
	hiddenPause = 50 * time.Millisecond
)

// find returns the kubelet that uses the runtime, 0 if none does. The error is an
// *UnseenError if one may do so that podctl cannot see.
func find(path string) (pid int, err error) {
	names := runtimeNames()
	for try := 1; ; try++ {
		pids, hidden, err := connected(path, names)
		if err != nil {
			return 0, &UnseenError{Socket: path, Cause: err}
		}
		for _, pid := range pids {
			if isKubelet(readProcess(pid)) {
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

// runtimeNames returns the runtime endpoints of all kubelets of this host.
func runtimeNames() []string {
	pids, err := proc.Default.PIDs()
	if err != nil {
		return nil // find fails with the same error
	}
	var names []string
	for _, pid := range pids {
		if p := readProcess(pid); isKubelet(p) && pid != os.Getpid() {
			if s, err := readSettings(p.args, filesOf(pid)); err == nil && s.config.RuntimeEndpoint != "" {
				names = append(names, s.config.RuntimeEndpoint)
			}
		}
	}
	return names
}

// readProcess reads what is readable; a process that has exited is no kubelet.
func readProcess(pid int) process {
	args, _ := proc.Default.Command(pid)
	return process{exe: proc.Default.Exe(pid), args: args}
}
