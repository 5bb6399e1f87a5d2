package volume

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

const downwardName = "kubernetes.io~downward-api"

// downward has fields of the pod and of its containers' resources as files, in
// memory (pkg/volume/downwardapi/downwardapi.go).
var downward = contentKind(downwardName, true,
	func(v *v1.Volume) bool { return v.DownwardAPI != nil },
	func(r request) (files, error) {
		s := r.volume.DownwardAPI
		return downwardFiles(r, s.Items, s.DefaultMode)
	})

func downwardFiles(r request, items []v1.DownwardAPIVolumeFile, mode *int32) (files, error) {
	if mode == nil {
		return nil, errNoMode
	}
	if r.in.Downward == nil {
		return nil, errors.New("there is no downward API")
	}
	found := files{}
	var errs []error
	for _, item := range items {
		value, err := r.in.Downward(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", item.Path, err))
			continue
		}
		found[item.Path] = file{data: []byte(value), mode: modeFor(item.Mode, mode)}
	}
	return found, utilerrors.NewAggregate(errs)
}
