package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// environment is a container's variables, in the order in which they are
// first declared. The zero value has none.
type environment struct {
	names  []string
	values map[string]string
	// links are the variables of Services, which the container's own hide.
	links map[string]string
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
		if !ok {
			value, ok = e.links[name]
		}
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
	env := &environment{links: serviceLinks(p, in.Objects)}
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
	for _, name := range slices.Sorted(maps.Keys(env.links)) {
		if _, own := env.values[name]; own {
			continue
		}
		if err := env.set(name, env.links[name]); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// serviceLinks returns the variables of the Services with an address in the pod's namespace, nil if
// it wants none (pkg/kubelet/envvars).
func serviceLinks(p *v1.Pod, objects *pod.Objects) map[string]string {
	if objects == nil || p.Spec.EnableServiceLinks != nil && !*p.Spec.EnableServiceLinks {
		return nil
	}
	links := map[string]string{}
	for _, s := range objects.Services {
		if s.Namespace != p.Namespace || s.Spec.ClusterIP == "" || s.Spec.ClusterIP == v1.ClusterIPNone || len(s.Spec.Ports) == 0 {
			continue
		}
		name := linkName(s.Name)
		links[name+"_SERVICE_HOST"] = s.Spec.ClusterIP
		links[name+"_SERVICE_PORT"] = fmt.Sprint(s.Spec.Ports[0].Port)
		for i, port := range s.Spec.Ports {
			if port.Name != "" {
				links[name+"_SERVICE_PORT_"+linkName(port.Name)] = fmt.Sprint(port.Port)
			}
			protocol := strings.ToLower(string(port.Protocol))
			url := fmt.Sprintf("%s://%s:%d", protocol, s.Spec.ClusterIP, port.Port)
			if i == 0 {
				links[name+"_PORT"] = url
			}
			of := fmt.Sprintf("%s_PORT_%d_%s", name, port.Port, port.Protocol)
			links[of], links[of+"_PROTO"], links[of+"_PORT"], links[of+"_ADDR"] = url, protocol, fmt.Sprint(port.Port), s.Spec.ClusterIP
		}
	}
	return links
}

func linkName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

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
