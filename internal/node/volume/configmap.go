package volume

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// configMap has the data of a ConfigMap as files, on disk
// (pkg/volume/configmap/configmap.go).
var configMap = contentKind("kubernetes.io~configmap", false,
	func(v *v1.Volume) bool { return v.ConfigMap != nil },
	func(r request) (files, error) {
		s := r.volume.ConfigMap
		return configMapFiles(r, s.Name, s.Items, s.DefaultMode, ptr.Deref(s.Optional, false))
	})

func configMapFiles(r request, name string, items []v1.KeyToPath, mode *int32, optional bool) (files, error) {
	object := r.in.Objects.ConfigMap(r.pod.Namespace, name)
	switch {
	case object == nil && !optional:
		return nil, fmt.Errorf("configmap %q not found", name)
	case object == nil:
		object = &v1.ConfigMap{}
	}
	values := map[string][]byte{}
	maps.Copy(values, object.BinaryData)
	for key, value := range object.Data {
		values[key] = []byte(value)
	}
	return pick(values, items, mode, func(key string) error {
		if optional {
			return nil
		}
		return fmt.Errorf("configmap references non-existent config key: %s", key)
	})
}
