package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// secretName matches the names of environment variables that usually hold secrets.
var secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|private|api_?key|access_?key|auth`)

// Secrets reports which environment variables of a container hold secrets.
type Secrets func(name string) bool

// SecretsOf returns the variables whose names are those of secrets, and those that the
// spec of the container, nil if it is not known, takes from a Secret. Which variables
// a whole Secret becomes is not in the spec: then all but those with a value of their
// own are masked.
func SecretsOf(c *v1.Container) Secrets {
	return func(name string) bool {
		if secretName.MatchString(name) || c == nil {
			return secretName.MatchString(name)
		}
		i := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == name })
		if i >= 0 {
			from := c.Env[i].ValueFrom
			return from != nil && from.SecretKeyRef != nil
		}
		return slices.ContainsFunc(c.EnvFrom, func(e v1.EnvFromSource) bool { return e.SecretRef != nil })
	}
}

// Masked stands in the place of a secret.
const Masked = "(masked: --show-secrets)"

// minSecret is the least length, in bytes, of a secret that is masked wherever it stands: a
// shorter one is a part of too much else.
const minSecret = 6

// Mask returns a copy of what the runtime answered, with a placeholder for the values of
// environment variables that hold secrets, wherever they stand, since arguments are
// expanded with them; and for manifests in annotations.
func Mask(answer any, secret Secrets) any {
	values := map[string]bool{}
	collectSecrets(answer, secret, values)
	var pairs []string
	// Of two at one place the first one wins.
	for _, value := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		pairs = append(pairs, value, Masked)
	}
	return masker{secret, strings.NewReplacer(pairs...)}.mask(answer)
}

// MaskAnnotations returns the annotations of a pod, with a placeholder for manifests.
func MaskAnnotations(annotations map[string]string) map[string]string {
	masked := maps.Clone(annotations)
	for key, text := range masked {
		if isManifest(key) {
			masked[key] = sizeOnly(text)
		}
	}
	return masked
}

// isManifest reports whether the values of an annotation are manifests, which may hold
// secrets: podctl's, and the one of kubectl apply.
func isManifest(annotation string) bool {
	return annotation == pod.ManifestAnnotation || annotation == v1.LastAppliedConfigAnnotation
}

func sizeOnly(text string) string { return fmt.Sprintf("(%d bytes: --show-secrets)", len(text)) }

func isVariables(key string) bool {
	return strings.EqualFold(key, "env") || strings.EqualFold(key, "envs")
}

// masker masks one answer.
type masker struct {
	secret Secrets
	// values replaces those of secrets.
	values *strings.Replacer
}

func (m masker) mask(answer any) any {
	switch value := answer.(type) {
	case map[string]any:
		masked := make(map[string]any, len(value))
		for key, v := range value {
			switch text, isText := v.(string); {
			case isManifest(key) && isText:
				masked[key] = sizeOnly(text)
			case isVariables(key):
				masked[key] = m.variables(v)
			default:
				masked[key] = m.mask(v)
			}
		}
		return masked
	case []any:
		masked := make([]any, len(value))
		for i, v := range value {
			masked[i] = m.mask(v)
		}
		return masked
	case string:
		return m.values.Replace(value)
	}
	return answer
}

// variable returns the name and the value of an environment variable in one of the forms of
// runtimes: NAME=VALUE, or an object with a key or name.
func variable(v any) (name, value string, ok bool) {
	switch v := v.(type) {
	case string:
		return strings.Cut(v, "=")
	case map[string]any:
		name, _ = v["key"].(string)
		if name == "" {
			name, _ = v["name"].(string)
		}
		_, ok = v["value"]
		value, _ = v["value"].(string)
	}
	return name, value, ok
}

// collectSecrets adds the values of variables that hold secrets.
func collectSecrets(answer any, secret Secrets, values map[string]bool) {
	switch answer := answer.(type) {
	case map[string]any:
		for key, v := range answer {
			list, isList := v.([]any)
			if !isVariables(key) || !isList {
				collectSecrets(v, secret, values)
				continue
			}
			for _, each := range list {
				if name, value, ok := variable(each); ok && secret(name) && len(value) >= minSecret {
					values[value] = true
				}
			}
		}
	case []any:
		for _, v := range answer {
			collectSecrets(v, secret, values)
		}
	}
}

// variables masks a list of variables.
func (m masker) variables(list any) any {
	all, ok := list.([]any)
	if !ok {
		return m.mask(list)
	}
	masked := make([]any, len(all))
	for i, v := range all {
		name, _, ok := variable(v)
		if !ok || !m.secret(name) {
			masked[i] = m.mask(v)
			continue
		}
		if fields, isMap := v.(map[string]any); isMap {
			hidden := maps.Clone(fields)
			hidden["value"] = Masked
			masked[i] = hidden
		} else {
			masked[i] = name + "=" + Masked
		}
	}
	return masked
}
