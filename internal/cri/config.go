package cri

import (
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// crictlConfig is what podctl reads of crictl's configuration file.
type crictlConfig struct {
	runtime, image string
	timeout        time.Duration // zero where the file does not say
}

// readCrictlConfig reads a file such as /etc/crictl.yaml. crictl writes its
// timeout as a number of seconds; a duration is taken too.
func readCrictlConfig(name string) (crictlConfig, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return crictlConfig{}, err
	}
	var raw struct {
		RuntimeEndpoint string `json:"runtime-endpoint"`
		ImageEndpoint   string `json:"image-endpoint"`
		Timeout         any    `json:"timeout"`
	}
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return crictlConfig{}, fmt.Errorf("read %s: %w", name, err)
	}
	cfg := crictlConfig{runtime: raw.RuntimeEndpoint, image: raw.ImageEndpoint}
	switch t := raw.Timeout.(type) {
	case nil:
	case float64:
		cfg.timeout = time.Duration(t * float64(time.Second))
	case string:
		if cfg.timeout, err = time.ParseDuration(t); err != nil {
			return crictlConfig{}, fmt.Errorf("read %s: timeout: %w", name, err)
		}
	default:
		return crictlConfig{}, fmt.Errorf("read %s: timeout: want a number of seconds, have %v", name, t)
	}
	return cfg, nil
}
