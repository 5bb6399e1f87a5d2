package render

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// setFrom sets a variable for each key of a ConfigMap or Secret, in the order
// of the keys (the kubelet's order is random). Every key can be one: the
// kubelet of v1.37 skips none.
func (e *environment) setFrom(from *v1.EnvFromSource, namespace string, objects *pod.Objects) error {
	switch {
	case from.ConfigMapRef != nil:
		c := objects.ConfigMap(namespace, from.ConfigMapRef.Name)
		if c == nil {
			return unlessOptional(from.ConfigMapRef.Optional, noConfigMap(from.ConfigMapRef.Name))
		}
		for _, key := range slices.Sorted(maps.Keys(c.Data)) {
			if err := e.set(from.Prefix+key, c.Data[key]); err != nil {
				return err
			}
		}
	case from.SecretRef != nil:
		s := objects.Secret(namespace, from.SecretRef.Name)
		if s == nil {
			return unlessOptional(from.SecretRef.Optional, noSecret(from.SecretRef.Name))
		}
		for _, key := range slices.Sorted(maps.Keys(s.Data)) {
			if err := e.set(from.Prefix+key, string(s.Data[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

// configMapKey returns one value of a ConfigMap; its binary data are none.
func configMapKey(ref *v1.ConfigMapKeySelector, namespace string, objects *pod.Objects) (value string, found bool, err error) {
	c := objects.ConfigMap(namespace, ref.Name)
	if c == nil {
		return "", false, unlessOptional(ref.Optional, noConfigMap(ref.Name))
	}
	if value, found = c.Data[ref.Key]; !found {
		err = unlessOptional(ref.Optional, fmt.Errorf("couldn't find key %s in ConfigMap %s/%s", ref.Key, namespace, ref.Name))
	}
	return value, found, err
}

// secretKey returns one value of a Secret. Errors contain no values.
func secretKey(ref *v1.SecretKeySelector, namespace string, objects *pod.Objects) (value string, found bool, err error) {
	s := objects.Secret(namespace, ref.Name)
	if s == nil {
		return "", false, unlessOptional(ref.Optional, noSecret(ref.Name))
	}
	data, found := s.Data[ref.Key]
	if !found {
		err = unlessOptional(ref.Optional, fmt.Errorf("couldn't find key %s in Secret %s/%s", ref.Key, namespace, ref.Name))
	}
	return string(data), found, err
}

// fileKey returns a variable from a file; one that is empty is not there.
func fileKey(ref *v1.FileKeySelector, in ContainerInput) (value string, found bool, err error) {
	if in.EnvFile == nil {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	if value, err = in.EnvFile(ref); err == nil && value == "" {
		err = unlessOptional(ref.Optional, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, ref.Path))
	}
	return value, value != "", err
}

func noConfigMap(name string) error { return fmt.Errorf("configmap %q not found", name) }

func noSecret(name string) error { return fmt.Errorf("secret %q not found", name) }

func unlessOptional(optional *bool, err error) error {
	if optional != nil && *optional {
		return nil
	}
	return err
}
