package kubelet

import (
	"fmt"
	"os"

	"github.com/podctl/podctl/internal/sys/netns"
	"github.com/podctl/podctl/internal/sys/proc"
)

// inNetworkOf runs a function in the network namespace of a process. The
// function must not start goroutines that depend on the namespace.
func inNetworkOf(pid int, do func() error) error {
	theirs, err := proc.Default.Namespace(pid, "net")
	if err != nil {
		return err
	}
	ours, err := proc.Default.Namespace(os.Getpid(), "net")
	if err != nil {
		return err
	}
	if theirs == ours {
		return do()
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	return netns.Do(namespace, do)
}
