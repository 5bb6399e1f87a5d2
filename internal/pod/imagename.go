package pod

import (
	"fmt"

	"github.com/distribution/reference"
)

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
