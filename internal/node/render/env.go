package render

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// environment is a container's variables, in the order in which they are
// first declared. The zero value has none.
type environment struct {
	names  []string
	values map[string]string
	// size is that of the variables and of what was expanded with them, in bytes: at most
	// pod.MaxExpanded.
	size int
}

func (e *environment) set(name, value string) error {
	if e.values == nil {
		e.values = map[string]string{}
	}
	old, ok := e.values[name]
	if !ok {
		e.names = append(e.names, name)
		e.size += len(name)
	}
	if e.size += len(value) - len(old); e.size > pod.MaxExpanded {
		return pod.ErrExpansion
	}
	e.values[name] = value
	return nil
}

// expand resolves the references in s to the variables declared so far.
func (e *environment) expand(s string) (string, error) {
	return pod.Expand(s, pod.MaxExpanded-e.size, func(name string) (string, bool) {
		value, ok := e.values[name]
		return value, ok
	})
}

func (e *environment) expandAll(list []string) ([]string, error) {
	var out []string
	for _, s := range list {
		expanded, err := e.expand(s)
		if err != nil {
			return nil, err
		}
		e.size += len(expanded)
		out = append(out, expanded)
	}
	return out, nil
}

func (e *environment) keyValues() []*runtimeapi.KeyValue {
	var out []*runtimeapi.KeyValue
	for _, name := range e.names {
		out = append(out, &runtimeapi.KeyValue{Key: name, Value: []byte(e.values[name])})
	}
	return out
}

// makeEnvironment resolves the container's variables: first those of envFrom,
// then those of env, where a value may refer to those before it. The last of
// a name wins (makeEnvironmentVariables in pkg/kubelet/kubelet_pods.go). What
// is optional and missing sets nothing.
func makeEnvironment(p *v1.Pod, c *v1.Container, in ContainerInput) (*environment, error) {
	env := &environment{}
	for i := range c.EnvFrom {
		if err := env.setFrom(&c.EnvFrom[i], p.Namespace, in.Objects); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, found := "", true
		var err error
		if v.Value == "" && v.ValueFrom != nil {
			value, found, err = valueFrom(p, c, v.ValueFrom, in)
		} else {
			value, err = env.expand(v.Value)
		}
		if err == nil && found {
			err = env.set(v.Name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return env, nil
}

// valueFrom returns the value of a source; found is false for one that is optional
// and missing.
func valueFrom(p *v1.Pod, c *v1.Container, from *v1.EnvVarSource, in ContainerInput) (value string, found bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = field(p, from.FieldRef, in.Node, in.podIPs(p))
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = resourceField(p, c, from.ResourceFieldRef, in.Node)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		return configMapKey(from.ConfigMapKeyRef, p.Namespace, in.Objects)
	case from.SecretKeyRef != nil:
		return secretKey(from.SecretKeyRef, p.Namespace, in.Objects)
	case from.FileKeyRef != nil:
		return fileKey(from.FileKeyRef, in)
	default:
		return "", true, nil
	}
}
