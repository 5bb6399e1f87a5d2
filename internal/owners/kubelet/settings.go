package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// settings are a kubelet's flags and configuration. Paths are as the kubelet
// sees them.
type settings struct {
	config config
	// rootDir is --root-dir, nodeName --hostname-override ("" for the host's name),
	// kubeconfig the kubeconfig by which it follows an API server.
	rootDir, nodeName, kubeconfig string
	// configFile is --config, certDir --cert-dir.
	configFile, certDir string
	// embedded: the kubelet is part of another program, which chooses its settings.
	embedded bool
}

// config is the part of a KubeletConfiguration that matters here.
type config struct {
	StaticPodPath   string `json:"staticPodPath"`
	StaticPodURL    string `json:"staticPodURL"`
	Address         string `json:"address"`
	Port            int    `json:"port"`
	ReadOnlyPort    int    `json:"readOnlyPort"`
	RuntimeEndpoint string `json:"containerRuntimeEndpoint"`
	CgroupDriver    string `json:"cgroupDriver"`
	TLSCertFile     string `json:"tlsCertFile"`
	Reservation     `json:",inline"`
}

// defaults returns the defaults of v1beta1 (pkg/kubelet/apis/config/v1beta1/defaults.go).
func defaults() config {
	return config{
		Address: "0.0.0.0", Port: 10250, RuntimeEndpoint: "unix:///run/containerd/containerd.sock", CgroupDriver: "cgroupfs",
		Reservation: Reservation{MaxPods: 110, EvictionHard: map[string]string{
			"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%",
		}},
	}
}

func defaultSettings() settings {
	return settings{config: defaults(), rootDir: "/var/lib/kubelet", certDir: "/var/lib/kubelet/pki"}
}

// readSettings reads a kubelet's command line, and the configuration files that
// it names. Flags take precedence, as in the kubelet (cmd/kubelet/app/server.go).
func readSettings(args []string, f files) (settings, error) {
	s := defaultSettings()
	if len(args) == 0 {
		return s, fmt.Errorf("its command line cannot be read")
	}
	flags := readFlags(args[1:])
	program := strings.Fields(args[0]) // empty if the process has chosen so
	s.embedded = len(program) == 0 || filepath.Base(program[0]) != "kubelet"
	if path := flags["config"]; path != "" {
		s.configFile = f.abs(path)
		if err := s.config.load(f, s.configFile); err != nil {
			return s, err
		}
	}
	if dir := flags["config-dir"]; dir != "" {
		if err := s.config.loadDir(f, f.abs(dir)); err != nil {
			return s, err
		}
	}
	if err := s.override(flags, f); err != nil {
		return s, err
	}
	return s, nil
}

// override applies the flags.
func (s *settings) override(flags map[string]string, f files) error {
	c := &s.config
	for name, text := range map[string]*string{
		"pod-manifest-path": &c.StaticPodPath, "manifest-url": &c.StaticPodURL, "address": &c.Address,
		"container-runtime-endpoint": &c.RuntimeEndpoint, "root-dir": &s.rootDir, "cgroup-driver": &c.CgroupDriver, "hostname-override": &s.nodeName,
		"cert-dir": &s.certDir, "tls-cert-file": &c.TLSCertFile,
	} {
		*text = cmp.Or(flags[name], *text)
	}
	for name, number := range map[string]*int{"port": &c.Port, "read-only-port": &c.ReadOnlyPort} {
		if flags[name] == "" {
			continue
		}
		n, err := strconv.Atoi(flags[name])
		if err != nil {
			return fmt.Errorf("--%s %q: %w", name, flags[name], err)
		}
		*number = n
	}
	s.kubeconfig = cmp.Or(flags["kubeconfig"], flags["bootstrap-kubeconfig"])
	for _, path := range []*string{&s.rootDir, &s.kubeconfig, &s.certDir, &c.TLSCertFile} {
		if *path != "" {
			*path = f.abs(*path)
		}
	}
	return c.overrideReservation(flags)
}

// readFlags reads --NAME=VALUE and --NAME VALUE; the last value of a flag counts.
func readFlags(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			value = args[i+1]
		}
		flags[strings.ReplaceAll(name, "_", "-")] = value
	}
	return flags
}

func (c *config) load(f files, path string) error {
	content, err := f.read(path)
	if err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	if err := bounded.CheckYAML(content); err != nil {
		return fmt.Errorf("read its configuration %s: %w", path, err)
	}
	if err := yaml.Unmarshal(content, c); err != nil {
		return fmt.Errorf("read its configuration %s: %w", path, err)
	}
	for _, file := range []*string{&c.StaticPodPath, &c.TLSCertFile} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	return nil
}

// loadDir applies drop-in files in the order of their names.
func (c *config) loadDir(f files, dir string) error {
	paths, err := f.glob(dir, ".conf")
	if err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if err := c.load(f, path); err != nil {
			return err
		}
	}
	return nil
}

func (f files) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.dir, path)
}

// filesTimeout bounds reading the files of kubelets. A process chooses the paths, so that
// a file may be on a file system that never answers.
const filesTimeout = 2 * time.Second

// readsInFlight has an entry for each read in flight. A read that hangs takes a thread
// until its file system answers; once all entries are taken nothing more is read.
var readsInFlight = make(chan struct{}, 16)

var errHangs = errors.New("the files of a kubelet do not answer")

// withReadTimeout returns what read returns, or an error when the context ends or the files
// do not answer in time. The read then goes on, with a context that has ended.
func withReadTimeout[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, filesTimeout, errHangs)
	defer cancel()
	done := make(chan result, 1)
	select {
	case readsInFlight <- struct{}{}:
	default:
		return *new(T), errHangs
	}
	go func() {
		defer func() { <-readsInFlight }()
		value, err := read(ctx)
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// readSettingsInTime is readSettings within filesTimeout. With an error it returns the
// defaults.
func readSettingsInTime(ctx context.Context, args []string, f files) (settings, error) {
	got, err := withReadTimeout(ctx, func(ctx context.Context) (*settings, error) {
		s, err := readSettings(args, f.until(ctx))
		return &s, err
	})
	if got == nil {
		return defaultSettings(), err
	}
	return *got, err
}
