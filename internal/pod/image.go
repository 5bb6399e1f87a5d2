package pod

import (
	"fmt"

	"github.com/distribution/reference"
)

// Image is an image that the runtime holds.
type Image struct {
	// ID is what CreateContainer should be given: it cannot mean another image
	// tomorrow.
	ID          string
	RepoTags    []string
	RepoDigests []string
	Size        uint64 // bytes
	// UID is the image's numeric user, nil where it names one; Username is that
	// name. An image with neither runs as root.
	UID      *int64
	Username string
	// Pinned: the runtime asks not to collect it as garbage.
	Pinned bool
}

// ImagePresent ends the message about a pull that failed though the runtime holds the image.
const ImagePresent = "the image is on this machine, and imagePullPolicy: IfNotPresent uses it"

// WithTag returns an image's name with the tag that it stands for: latest, if it has
// neither tag nor digest (applyDefaultImageTag in pkg/kubelet/images/image_manager.go).
func WithTag(image string) (string, error) {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	if reference.IsNameOnly(ref) {
		return image + ":latest", nil
	}
	return image, nil
}
