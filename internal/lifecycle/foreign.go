package lifecycle

import (
	"fmt"

	"github.com/podctl/podctl/internal/pod"
)

// ForeignPodError says that the runtime already runs a pod of a desired pod's
// name or UID that podctl did not create.
type ForeignPodError struct{ Pod *pod.Pod }

func (e *ForeignPodError) Error() string {
	return fmt.Sprintf("the runtime already runs a pod %s that podctl did not create (uid %s)",
		pod.DisplayName(e.Pod.Namespace, e.Pod.Name), e.Pod.UID)
}

// Hint says how to resolve it.
func (e *ForeignPodError) Hint() string {
	id := ""
	if len(e.Pod.Sandboxes) > 0 {
		id = " " + e.Pod.Sandboxes[0].ID
	}
	return "rename the pod in the manifest, or remove the other one: crictl rmp -f" + id
}
