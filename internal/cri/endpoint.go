package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// SimEndpoint is the endpoint of the in-memory runtime: Discover passes it
// through, Connect needs Options.Dial with it.
const SimEndpoint = "sim:"

// SimName is the name that a simulated runtime gives itself, also at a socket.
const SimName = "podctl-sim"

// RecordingScheme is what the endpoint of a recording begins with, before the name of its file.
// Discover passes it through, Connect needs Options.Dial with it.
const RecordingScheme = "tape:"

// IsRecording reports whether an endpoint is a recording.
func IsRecording(endpoint string) bool {
	return strings.HasPrefix(endpoint, RecordingScheme) && endpoint != RecordingScheme
}

// Endpoint is the address of a runtime with the timeout of its calls.
type Endpoint struct {
	// Runtime and Image are URLs, unix:///path; Image equals Runtime
	// unless another was named.
	Runtime, Image string
	// Source is who named Runtime: "--runtime-endpoint", an environment
	// variable's name, a file's path, or "well-known socket".
	Source string
	// Timeout bounds the calls that only read; zero means DefaultTimeout. Calls
	// that change something never get less than the kubelet's two minutes, so
	// that crictl's two seconds in its configuration do no harm here.
	Timeout time.Duration
}

// normalizeEndpoint makes unix:///path of a bare path, and refuses what is not
// a unix socket.
func normalizeEndpoint(s string) (string, error) {
	scheme, rest, isURL := strings.Cut(s, "://")
	switch {
	case s == "":
		return "", errors.New("empty endpoint")
	case s == SimEndpoint, IsRecording(s):
		return s, nil
	case isURL && scheme == "unix", !isURL && strings.HasPrefix(s, "unix:"):
		path := rest
		if !isURL {
			path = strings.TrimPrefix(s, "unix:")
		}
		if !strings.HasPrefix(path, "/") {
			return "", fmt.Errorf("endpoint %q: the socket's path must be absolute, as in unix:///run/containerd/containerd.sock", s)
		}
		return "unix://" + path, nil
	case isURL && scheme == "npipe":
		return "", fmt.Errorf("endpoint %q: Windows pipes are not supported", s)
	case isURL:
		return "", fmt.Errorf("endpoint %q: a CRI runtime is reached by a unix socket, not by %s", s, scheme)
	case strings.HasPrefix(s, "/"):
		return "unix://" + s, nil
	}
	if file, err := os.Stat(s); err == nil && file.Mode()&fs.ModeSocket != 0 { // in the working directory
		path, err := filepath.Abs(s)
		return "unix://" + path, err
	}
	return "", fmt.Errorf("endpoint %q: want unix:///path/to/socket, /path/to/socket, sim: or tape:FILE", s)
}

// socketPath is the file of a normalized endpoint.
func socketPath(endpoint string) string { return strings.TrimPrefix(endpoint, "unix://") }

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
