package render

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// environment is a container's variables, in the order in which they are
// first declared. The zero value has none.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if e.values == nil {
		e.values = map[string]string{}
	}
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// expand resolves the references in s to the variables declared so far.
func (e *environment) expand(s string) string {
	return expand(s, func(name string) (string, bool) {
		value, ok := e.values[name]
		return value, ok
	})
}

func (e *environment) expandAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, e.expand(s))
	}
	return out
}

func (e *environment) keyValues() []*runtimeapi.KeyValue {
	var out []*runtimeapi.KeyValue
	for _, name := range e.names {
		out = append(out, &runtimeapi.KeyValue{Key: name, Value: []byte(e.values[name])})
	}
	return out
}

// makeEnvironment resolves the container's variables: a value may refer to
// those before it, the last of a name wins (makeEnvironmentVariables in
// pkg/kubelet/kubelet_pods.go).
func makeEnvironment(p *v1.Pod, c *v1.Container, in ContainerInput) (*environment, error) {
	env := &environment{}
	if len(c.EnvFrom) > 0 {
		return nil, errors.New("envFrom: ConfigMaps and Secrets are not read")
	}
	for i := range c.Env {
		v := &c.Env[i]
		value := env.expand(v.Value)
		if value == "" && v.ValueFrom != nil {
			var err error
			if value, err = valueFrom(p, c, v.ValueFrom, in); err != nil {
				return nil, fmt.Errorf("env %q: %w", v.Name, err)
			}
		}
		env.set(v.Name, value)
	}
	return env, nil
}

func valueFrom(p *v1.Pod, c *v1.Container, from *v1.EnvVarSource, in ContainerInput) (string, error) {
	switch {
	case from.FieldRef != nil:
		return field(p, from.FieldRef, in.Node, in.podIPs(p))
	case from.ResourceFieldRef != nil:
		return resourceField(p, c, from.ResourceFieldRef, in.Node)
	case from.ConfigMapKeyRef != nil:
		return "", errors.New("configMapKeyRef: ConfigMaps are not read")
	case from.SecretKeyRef != nil:
		return "", errors.New("secretKeyRef: Secrets are not read")
	case from.FileKeyRef != nil:
		return "", errors.New("fileKeyRef: variables are not read from files")
	default:
		return "", nil
	}
}
