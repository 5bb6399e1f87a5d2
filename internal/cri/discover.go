package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// WellKnownSockets are tried, in this order, when no runtime is named.
var WellKnownSockets = []string{
	"/run/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/cri-dockerd.sock",
	"/run/k3s/containerd/containerd.sock", // RKE2, too
	"/run/k0s/containerd.sock",
	"/var/snap/microk8s/common/run/containerd.sock",
}

// wellKnownTimeout is how long one of them may take to answer.
const wellKnownTimeout = 2 * time.Second

// DiscoverOptions say where to look. The zero value looks at the environment,
// /etc/crictl.yaml and the well-known sockets.
type DiscoverOptions struct {
	// Runtime, Image and Timeout are the flags --runtime-endpoint,
	// --image-endpoint and --timeout; zero where not given.
	Runtime, Image string
	Timeout        time.Duration
	// Getenv is the environment; nil means os.Getenv.
	Getenv func(string) string
	// ConfigFile is crictl's configuration; "" means $CRI_CONFIG_FILE, and
	// without that /etc/crictl.yaml.
	ConfigFile string
	// Sockets are tried last; nil means WellKnownSockets.
	Sockets []string
}

// Discover finds the runtime: the flag, else PODCTL_RUNTIME_ENDPOINT, else
// CONTAINER_RUNTIME_ENDPOINT, else crictl's configuration, else the first
// well-known socket at which a CRI v1 runtime answers, or a server accepts
// connections without answering. An endpoint that the user names is not tried
// here: Connect reports that it does not work.
//
// The image endpoint is looked for in the same order, but never in a place
// that ranks below the one that named the runtime: it would be another
// runtime's. The timeout is the flag's, else PODCTL_TIMEOUT, else crictl's.
//
// "sim:" and "tape:FILE" are passed through where they are named.
func Discover(ctx context.Context, o DiscoverOptions) (Endpoint, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Sockets == nil {
		o.Sockets = WellKnownSockets
	}
	file := cmp.Or(o.ConfigFile, o.Getenv("CRI_CONFIG_FILE"), "/etc/crictl.yaml")
	// A broken configuration matters only to who gets as far as to need it.
	cfg, cfgErr := readCrictlConfig(file)
	timeout, err := discoverTimeout(o, cfg)
	if err != nil {
		return Endpoint{}, err
	}

	var image string
	var attempts []attempt
	for _, s := range []struct{ where, runtime, image string }{
		{"--runtime-endpoint", o.Runtime, o.Image},
		{"PODCTL_RUNTIME_ENDPOINT", o.Getenv("PODCTL_RUNTIME_ENDPOINT"), o.Getenv("PODCTL_IMAGE_ENDPOINT")},
		{"CONTAINER_RUNTIME_ENDPOINT", o.Getenv("CONTAINER_RUNTIME_ENDPOINT"), o.Getenv("IMAGE_SERVICE_ENDPOINT")},
		{file, cfg.runtime, cfg.image},
	} {
		image = cmp.Or(image, s.image)
		if s.runtime != "" {
			return endpointOf(s.runtime, image, s.where, timeout)
		}
		err := errors.New("not set")
		if s.where == file && cfgErr != nil {
			if !errors.Is(cfgErr, fs.ErrNotExist) {
				return Endpoint{}, cfgErr
			}
			err = errors.New("no such file")
		}
		attempts = append(attempts, attempt{s.where, err})
	}
	for _, path := range o.Sockets {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			attempts = append(attempts, attempt{path, errors.New("no such file")})
			continue
		}
		err := tryEndpoint(ctx, "unix://"+path)
		if err == nil || errors.Is(err, ErrHung) { // Connect reports one that hangs
			return endpointOf(path, image, "well-known socket", timeout)
		}
		if e, ok := errors.AsType[*Error](err); ok {
			attempts = append(attempts, attempt{path, reason{e}})
			continue
		}
		attempts = append(attempts, attempt{path, err})
	}
	return Endpoint{}, notFound(attempts)
}

func discoverTimeout(o DiscoverOptions, cfg crictlConfig) (time.Duration, error) {
	if o.Timeout != 0 {
		return o.Timeout, nil
	}
	if s := o.Getenv("PODCTL_TIMEOUT"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("read PODCTL_TIMEOUT: %w", err)
		}
		return d, nil
	}
	return cfg.timeout, nil
}

// endpointOf checks an endpoint that was named.
func endpointOf(runtime, image, source string, timeout time.Duration) (Endpoint, error) {
	r, err := normalizeEndpoint(runtime)
	if err != nil {
		return Endpoint{}, &EndpointError{source, err}
	}
	i, err := normalizeEndpoint(cmp.Or(image, runtime))
	if err != nil {
		return Endpoint{}, &EndpointError{"image endpoint", err}
	}
	return Endpoint{Runtime: r, Image: i, Source: source, Timeout: timeout}, nil
}

// EndpointError is an endpoint that is not the address of a CRI socket.
type EndpointError struct {
	// Source is the flag, variable or file that names it.
	Source string
	Err    error
}

func (e *EndpointError) Error() string { return fmt.Sprintf("read %s: %v", e.Source, e.Err) }

func (e *EndpointError) Unwrap() error { return e.Err }

// tryEndpoint reports whether a CRI runtime answers.
func tryEndpoint(ctx context.Context, endpoint string) error {
	c, err := Connect(ctx, Options{Endpoint: Endpoint{Runtime: endpoint, Timeout: wellKnownTimeout}})
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

// attempt is one place that was looked at, and why it did not do.
type attempt struct {
	where string
	err   error
}

// notFound returns the error for no runtime at all, with a line for each place. It is an
// ErrUnavailable, and what the attempts failed of.
func notFound(attempts []attempt) error {
	text, kinds := "none of these:", []error{ErrUnavailable}
	for _, a := range attempts {
		kinds = append(kinds, a.err)
		text += fmt.Sprintf("\n  %s: %v", a.where, a.err)
	}
	e := &Error{Method: "Discover", verb: "find", Object: "a CRI runtime", text: text, kinds: kinds}
	e.hint = "start a runtime (systemctl start containerd), or name its endpoint: --runtime-endpoint unix:///path/to/socket"
	if errors.Is(e, ErrPermission) {
		e.hint = "only root can open a runtime's socket: run podctl as root, for instance with sudo"
	}
	return e
}

// reason is an error in the runtime's words alone, for a list that says
// where.
type reason struct{ err *Error }

func (r reason) Error() string { return r.err.text }
func (r reason) Unwrap() error { return r.err }
