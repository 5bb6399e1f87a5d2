package cri

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEndpointsAreUnixSockets(t *testing.T) {
	for in, want := range map[string]string{
		"/run/x.sock":            "unix:///run/x.sock",
		"unix:///run/x.sock":     "unix:///run/x.sock",
		"unix:/run/x.sock":       "unix:///run/x.sock",
		"sim:":                   "sim:",
		"unix://run/x.sock":      "",
		"tcp://127.0.0.1:3735":   "",
		"http://localhost":       "",
		"npipe:////./pipe/x":     "",
		"run/x.sock":             "",
		"unix:":                  "",
		"":                       "",
		"containerd":             "",
		"127.0.0.1:3735":         "",
		"fd://":                  "",
		"UNIX:///run/x.sock":     "",
		"unix:///run/a b/x.sock": "unix:///run/a b/x.sock",
	} {
		got, err := normalizeEndpoint(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

// TestDiscoverOrder: flag, PODCTL_RUNTIME_ENDPOINT, CONTAINER_RUNTIME_ENDPOINT,
// crictl's configuration; an image endpoint never from a lower place.
func TestSocketInTheWorkingDirectoryIsAnEndpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	l, err := net.Listen("unix", "x.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want, err := filepath.Abs("x.sock")
	if got, endpointErr := normalizeEndpoint("x.sock"); err != nil || endpointErr != nil || got != "unix://"+want {
		t.Errorf("%q, %v; want unix://%s", got, endpointErr, want)
	}
}

func TestDiscoverOrder(t *testing.T) {
	config := filepath.Join(t.TempDir(), "crictl.yaml")
	if err := os.WriteFile(config, []byte("runtime-endpoint: unix:///file\nimage-endpoint: /file-image\ntimeout: 7\ndebug: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts DiscoverOptions
		env  map[string]string
		want Endpoint
	}{
		{name: "file", want: Endpoint{Runtime: "unix:///file", Image: "unix:///file-image", Source: config, Timeout: 7 * time.Second}},
		{name: "crictl's variable", env: map[string]string{"CONTAINER_RUNTIME_ENDPOINT": "/env"},
			want: Endpoint{Runtime: "unix:///env", Image: "unix:///env", Source: "CONTAINER_RUNTIME_ENDPOINT", Timeout: 7 * time.Second}},
		{name: "podctl's variable", env: map[string]string{"CONTAINER_RUNTIME_ENDPOINT": "/env", "PODCTL_RUNTIME_ENDPOINT": "/own", "IMAGE_SERVICE_ENDPOINT": "/low", "PODCTL_TIMEOUT": "9s"},
			want: Endpoint{Runtime: "unix:///own", Image: "unix:///own", Source: "PODCTL_RUNTIME_ENDPOINT", Timeout: 9 * time.Second}},
		{name: "flag", opts: DiscoverOptions{Runtime: "/flag", Timeout: time.Second}, env: map[string]string{"PODCTL_RUNTIME_ENDPOINT": "/own"},
			want: Endpoint{Runtime: "unix:///flag", Image: "unix:///flag", Source: "--runtime-endpoint", Timeout: time.Second}},
		{name: "image flag over file", opts: DiscoverOptions{Image: "/flag-image"},
			want: Endpoint{Runtime: "unix:///file", Image: "unix:///flag-image", Source: config, Timeout: 7 * time.Second}},
		{name: "sim", opts: DiscoverOptions{Runtime: "sim:"},
			want: Endpoint{Runtime: "sim:", Image: "sim:", Source: "--runtime-endpoint", Timeout: 7 * time.Second}},
		{name: "file named by crictl's variable", opts: DiscoverOptions{ConfigFile: ""}, env: map[string]string{"CRI_CONFIG_FILE": config},
			want: Endpoint{Runtime: "unix:///file", Image: "unix:///file-image", Source: config, Timeout: 7 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.env["CRI_CONFIG_FILE"] == "" {
				c.opts.ConfigFile = config
			}
			c.opts.Getenv = func(k string) string { return c.env[k] }
			got, err := Discover(t.Context(), c.opts)
			if err != nil || got != c.want {
				t.Errorf("%+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestDiscoverRefusesABrokenConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"runtime-endpoint: [":                      "crictl.yaml",
		"timeout: soon\nruntime-endpoint: /x":      `invalid duration "soon"`,
		"timeout: [1]\nruntime-endpoint: /x":       "want a number of seconds",
		"runtime-endpoint: tcp://127.0.0.1:1":      "not by tcp",
		"runtime-endpoint: /x\nimage-endpoint: ab": `endpoint "ab"`,
	} {
		config := filepath.Join(t.TempDir(), "crictl.yaml")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Discover(t.Context(), DiscoverOptions{ConfigFile: config, Getenv: noEnv}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something about %q", text, err, want)
		}
		// Who says where the runtime is does not need the file.
		if _, err := Discover(t.Context(), DiscoverOptions{Runtime: "/flag", ConfigFile: config, Getenv: noEnv}); err != nil {
			t.Errorf("%q, with a flag: %v", text, err)
		}
	}
}

// TestDiscoverTriesWellKnownSockets and takes the first that speaks CRI.
func TestDiscoverTriesWellKnownSockets(t *testing.T) {
	none := tempSocket(t)
	silent, stale := listen(t)
	silent.Close() // Go removes the file
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, good := simSocket(t)
	opts := DiscoverOptions{ConfigFile: none, Getenv: noEnv, Sockets: []string{none, stale, good}}
	got, err := Discover(t.Context(), opts)
	if want := (Endpoint{Runtime: "unix://" + good, Image: "unix://" + good, Source: "well-known socket"}); err != nil || got != want {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}

	opts.Sockets = opts.Sockets[:2]
	_, err = Discover(t.Context(), opts)
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("without a runtime: %v", err)
	}
	want := "find a CRI runtime: none of these:\n" +
		"  --runtime-endpoint: not set\n" +
		"  PODCTL_RUNTIME_ENDPOINT: not set\n" +
		"  CONTAINER_RUNTIME_ENDPOINT: not set\n" +
		"  " + none + ": no such file\n" +
		"  " + none + ": no such file\n" +
		"  " + stale + ": " + stale + " is not a socket"
	if err.Error() != want {
		t.Errorf("message\n%s\nwant\n%s", err, want)
	}
	if hint := hintOf(err); !strings.Contains(hint, "--runtime-endpoint") {
		t.Errorf("hint %q", hint)
	}
}
