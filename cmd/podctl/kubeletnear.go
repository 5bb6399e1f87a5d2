package main

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

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/node"
)

// kubeletNear is a kubelet that uses the runtime, and what its command line and
// configuration tell of it.
type kubeletNear struct {
	pid int
	// readOnly is the address where it may answer anybody.
	readOnly string
	// staticPods is its static pod directory, "" if none is known.
	staticPods string
	// nodeName is "" for the host's name.
	nodeName string
	// follows: it has pods from an API server, too.
	follows bool
}

// standardStaticPods is where a kubelet that kubeadm set up looks.
const standardStaticPods = "/etc/kubernetes/manifests"

// findKubelet looks for a kubelet on the runtime's socket; nil if there is none.
func findKubelet(endpoint cri.Endpoint) (*kubeletNear, error) {
	path, unix := strings.CutPrefix(endpoint.Runtime, "unix://")
	if !unix {
		return nil, nil
	}
	err := node.CheckNoKubelet(path)
	var beside *node.BesideKubeletError
	if !errors.As(err, &beside) {
		return nil, err
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", beside.PID))
	if err != nil {
		command = nil // it has ended, or is a secret: then what is usual
	}
	k := readKubelet(strings.Split(strings.TrimRight(string(command), "\x00"), "\x00"), os.ReadFile)
	k.pid = beside.PID
	if k.staticPods == "" {
		if _, err := os.Stat(standardStaticPods); err == nil {
			k.staticPods = standardStaticPods
		}
	}
	return k, nil
}

// readKubelet reads a kubelet's command line, and the configuration that it
// names. Flags win, as they do in the kubelet.
func readKubelet(args []string, readFile func(string) ([]byte, error)) *kubeletNear {
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
			_ = yaml.Unmarshal(content, &config) // what cannot be read is as if it were not there
			if config.StaticPodPath != "" && !filepath.IsAbs(config.StaticPodPath) {
				config.StaticPodPath = filepath.Join(filepath.Dir(path), config.StaticPodPath)
			}
		}
	}
	port, _ := strconv.Atoi(flag("read-only-port"))
	k := &kubeletNear{
		readOnly: desired.ReadOnlyURL, staticPods: cmp.Or(flag("pod-manifest-path"), config.StaticPodPath), nodeName: flag("hostname-override"),
		// What contains a kubelet and is none has a cluster of its own.
		follows: flag("kubeconfig") != "" || flag("bootstrap-kubeconfig") != "" || filepath.Base(args[0]) != "kubelet",
	}
	if port = cmp.Or(port, config.ReadOnlyPort); port > 0 {
		k.readOnly = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return k
}
