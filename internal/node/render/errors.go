package render

import "fmt"

// The kubelet's reasons for a config that cannot be made
// (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// pkg/kubelet/container/sync_result.go).
const (
	ReasonSandbox   = "CreatePodSandboxError"
	ReasonContainer = "CreateContainerConfigError"
)

// Error is a config that cannot be made. Unwrap gives the cause alone, which
// is what the kubelet writes into a container's waiting message.
type Error struct {
	reason, object string
	err            error
}

func (e *Error) Error() string { return fmt.Sprintf("render %s: %v", e.object, e.err) }

func (e *Error) Unwrap() error { return e.err }

// Reason returns the kubelet's word for it: ReasonSandbox or ReasonContainer.
func (e *Error) Reason() string { return e.reason }
