package volume

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// image is the content of a container image. The runtime has it, and mounts
// it: here is nothing to make, and no host path.
var image = kind{
	pathOutside: func(string, *v1.Pod, *v1.Volume, *pod.Objects) string { return "" },
	owns:        func(v *v1.Volume) bool { return v.Image != nil },
	setUp:       func(context.Context, request) error { return nil },
}
