package inspect

import (
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

// Mask returns a copy of what the runtime answered, with a placeholder for the values of
// environment variables that hold secrets, and for the manifest that podctl stores with
// a sandbox, which may.
func Mask(answer any, secret Secrets) any {
	switch value := answer.(type) {
	case map[string]any:
		masked := make(map[string]any, len(value))
		for key, v := range value {
			switch text, isText := v.(string); {
			case key == pod.ManifestAnnotation && isText:
				masked[key] = fmt.Sprintf("(%d bytes: --show-secrets)", len(text))
			case strings.EqualFold(key, "env"), strings.EqualFold(key, "envs"):
				masked[key] = maskVariables(v, secret)
			default:
				masked[key] = Mask(v, secret)
			}
		}
		return masked
	case []any:
		masked := make([]any, len(value))
		for i, v := range value {
			masked[i] = Mask(v, secret)
		}
		return masked
	}
	return answer
}

// maskVariables masks a list of variables: NAME=VALUE, or objects with a key or name.
func maskVariables(list any, secret Secrets) any {
	variables, ok := list.([]any)
	if !ok {
		return Mask(list, secret)
	}
	masked := make([]any, len(variables))
	for i, v := range variables {
		masked[i] = v
		switch v := v.(type) {
		case string:
			if name, _, found := strings.Cut(v, "="); found && secret(name) {
				masked[i] = name + "=" + Masked
			}
		case map[string]any:
			name, _ := v["key"].(string)
			if name == "" {
				name, _ = v["name"].(string)
			}
			if _, has := v["value"]; has && secret(name) {
				hidden := map[string]any{}
				maps.Copy(hidden, v)
				hidden["value"] = Masked
				masked[i] = hidden
			}
		}
	}
	return masked
}
