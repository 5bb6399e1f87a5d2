package volume

import (
	"errors"
	"maps"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"
)

const projectName = "kubernetes.io~projected"

// projected has several sources in one directory, in memory: of two files of
// one path, the later source's counts (pkg/volume/projected/projected.go).
var projected = contentKind(projectName, true,
	func(v *v1.Volume) bool { return v.Projected != nil },
	func(r request) (files, error) {
		mode := r.volume.Projected.DefaultMode
		if mode == nil {
			return nil, errNoMode
		}
		all := files{}
		var errs []error
		for i := range r.volume.Projected.Sources {
			some, err := projectedFiles(r, &r.volume.Projected.Sources[i], mode)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			maps.Copy(all, some)
		}
		return all, utilerrors.NewAggregate(errs)
	})

func projectedFiles(r request, s *v1.VolumeProjection, mode *int32) (files, error) {
	switch {
	case s.ConfigMap != nil:
		return configMapFiles(r, s.ConfigMap.Name, s.ConfigMap.Items, mode, ptr.Deref(s.ConfigMap.Optional, false))
	case s.Secret != nil:
		return secretFiles(r, s.Secret.Name, s.Secret.Items, mode, ptr.Deref(s.Secret.Optional, false))
	case s.DownwardAPI != nil:
		return downwardFiles(r, s.DownwardAPI.Items, mode)
	case s.ServiceAccountToken != nil:
		return tokenFiles(r, s.ServiceAccountToken, mode)
	}
	return nil, errors.New("a projected source that needs a control plane")
}
