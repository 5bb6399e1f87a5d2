package render

import (
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
		value, found := env.expand(v.Value), true
		if v.Value == "" && v.ValueFrom != nil {
			var err error
			if value, found, err = valueFrom(p, c, v.ValueFrom, in); err != nil {
				return nil, err
			}
		}
		if found {
			env.set(v.Name, value)
		}
	}
	return env, nil
}

// valueFrom is the value of a source; found is false for one that is optional
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
