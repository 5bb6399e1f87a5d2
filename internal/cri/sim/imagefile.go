package sim

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// imageEntry is an image in a file: what is special about it.
type imageEntry struct {
	// Names are its names; the first counts.
	Names []string `json:"names"`
	// User is a name or a number; Group and Groups are that user's in the image.
	User   string  `json:"user"`
	Group  int64   `json:"group"`
	Groups []int64 `json:"groups"`
	// Command is run by containers that have none.
	Command []string `json:"command"`
	// Absent images are there after they were pulled, which takes Pull, or fails with Error.
	Absent bool            `json:"absent"`
	Pull   metav1.Duration `json:"pull"`
	Error  string          `json:"error"`
	// Size is in bytes.
	Size uint64 `json:"size"`
}

// LoadImages sets the images of a YAML file: {images: [{names: […], …}]}.
func (r *Runtime) LoadImages(data []byte) error {
	var file struct {
		Images []imageEntry `json:"images"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return err
	}
	for n, e := range file.Images {
		if len(e.Names) == 0 {
			return fmt.Errorf("images[%d].names: want a name at least", n)
		}
		s := ImageScript{
			Names: e.Names[1:], GID: e.Group, Groups: e.Groups, Command: e.Command, Size: e.Size,
			Absent: e.Absent || e.Error != "", PullTakes: max(0, e.Pull.Duration).Round(time.Millisecond),
		}
		if uid, err := strconv.ParseInt(e.User, 10, 64); err == nil {
			s.UID = &uid
		} else {
			s.User = e.User
		}
		if e.Error != "" {
			s.PullErr = errorf(codes.Unknown, "failed to pull and unpack image %q: %s", normalizeRef(e.Names[0]), e.Error)
		}
		r.SetImage(e.Names[0], s)
	}
	return nil
}
