package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Near is a kubelet that uses the runtime, with what its command line and
// configuration file say.
type Near struct {
	PID int
	// ReadOnly is the URL of its unauthenticated server, if it has one.
	ReadOnly string
	// StaticPods is its static pod directory, "" if none is known.
	StaticPods string
	// NodeName is its --hostname-override, "" for the host's name.
	NodeName string
	// Follows: an API server is one of its sources.
	Follows bool
}

// standardStaticPods is the static pod directory that kubeadm configures.
const standardStaticPods = "/etc/kubernetes/manifests"

// Find returns the kubelet that is connected to the runtime's endpoint, nil if
// there is none.
func Find(endpoint string) (*Near, error) {
	path, unix := strings.CutPrefix(endpoint, "unix://")
	if !unix {
		return nil, nil
	}
	err := CheckNone(path)
	var beside *BesideError
	if !errors.As(err, &beside) {
		return nil, err
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", beside.PID))
	if err != nil {
		command = nil // it has exited, or is not readable: the defaults then
	}
	k := readNear(strings.Split(strings.TrimRight(string(command), "\x00"), "\x00"), os.ReadFile)
	k.PID = beside.PID
	if k.StaticPods == "" {
		if _, err := os.Stat(standardStaticPods); err == nil {
			k.StaticPods = standardStaticPods
		}
	}
	return k, nil
}

// readNear reads a kubelet's command line, and the configuration file that it
// names. Flags take precedence, as in the kubelet.
func readNear(args []string, readFile func(string) ([]byte, error)) *Near {
	flag := func(name string) string {
		for i, arg := range args {
			if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
				return value
			}
			if arg == "--"+name && i+1 < len(args) {
				return args[i+1]
			}
		}
		return ""
	}
	var config struct {
		StaticPodPath string `json:"staticPodPath"`
		ReadOnlyPort  int    `json:"readOnlyPort"`
	}
	if path := flag("config"); path != "" {
		if content, err := readFile(path); err == nil {
			_ = yaml.Unmarshal(content, &config) // an invalid file leaves the defaults
			if config.StaticPodPath != "" && !filepath.IsAbs(config.StaticPodPath) {
				config.StaticPodPath = filepath.Join(filepath.Dir(path), config.StaticPodPath)
			}
		}
	}
	port, _ := strconv.Atoi(flag("read-only-port"))
	k := &Near{
		ReadOnly: ReadOnlyURL, StaticPods: cmp.Or(flag("pod-manifest-path"), config.StaticPodPath), NodeName: flag("hostname-override"),
		// A program that contains a kubelet is a distribution with an API server.
		Follows: flag("kubeconfig") != "" || flag("bootstrap-kubeconfig") != "" || filepath.Base(args[0]) != "kubelet",
	}
	if port = cmp.Or(port, config.ReadOnlyPort); port > 0 {
		k.ReadOnly = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return k
}
