package image

import (
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Save writes the image as a docker-archive tarball that `ctr images import`
// and skopeo read, tagged with the given name. The file appears whole or not
// at all.
func Save(path, tag string, img v1.Image) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("save image: %w", err)
	}
	if err := tarball.WriteToFile(path+".tmp", ref, img); err != nil {
		return fmt.Errorf("save image %s: %w", tag, err)
	}
	return os.Rename(path+".tmp", path)
}
