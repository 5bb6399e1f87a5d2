package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Host reads what a report has of the host: the configuration and the logs of the runtime and
// of the kubelet, and the kernel's log.
type Host struct {
	// Endpoint finds the runtime.
	Endpoint func(context.Context) (cri.Endpoint, error)
	Procs    proc.FS
	// Journal and KernelLog read the logs of the machine; nil where there are none.
	Journal   Journal
	KernelLog func() (view.KernelLog, error)
	Now       func() time.Time

	mu         sync.Mutex
	kubeletDir string
}

// Parts are the parts of a report about the host.
func (h *Host) Parts() []Part {
	return []Part{
		{Name: "runtime-config", Title: "configuration of the runtime and its network", Collect: h.runtimeConfig},
		{Name: "kubelet-config", Title: "configuration of the kubelet", Collect: h.ofKubelet(h.kubeletConfig)},
		{Name: "runtime-log", Title: "log of the runtime", Collect: h.runtimeLog},
		{Name: "kubelet-log", Title: "log of the kubelet", Collect: h.ofKubelet(h.kubeletLog)},
		{Name: "kernel-log", Title: "log of the kernel", Collect: h.kernelLog},
	}
}

// runtimeProcess is the process that serves the endpoint.
func (h *Host) runtimeProcess(ctx context.Context) (Program, error) {
	endpoint, err := h.Endpoint(ctx)
	if err != nil {
		return Program{}, err
	}
	server := cri.ServerOf(endpoint)
	if server.PID == 0 {
		return Program{}, fmt.Errorf("the process that serves %s is not visible", endpoint.Runtime)
	}
	args, err := h.Procs.Command(server.PID)
	return Program{PID: server.PID, Comm: server.Comm, Args: args}, err
}

func (h *Host) runtimeConfig(ctx context.Context) ([]File, error) {
	p, err := h.runtimeProcess(ctx)
	if err != nil {
		return nil, err
	}
	return p.ReadConfig(h.Procs, p.RuntimeConfig())
}

func (h *Host) runtimeLog(ctx context.Context) ([]File, error) {
	p, err := h.runtimeProcess(ctx)
	if err != nil {
		return nil, err
	}
	return ReadLog(ctx, h.Procs, p.PID, h.Journal)
}

// Kubelet finds the kubelet that uses the runtime, nil if none does.
func (h *Host) Kubelet(ctx context.Context) (*kubelet.Process, error) {
	endpoint, err := h.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	k, err := kubelet.Find(ctx, endpoint.Runtime)
	if k != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kubeletDir = filepath.Join(h.Procs.Root(k.PID), k.PodDirs())
	}
	return k, err
}

// ofKubelet returns what collects a part about the kubelet.
func (h *Host) ofKubelet(read func(context.Context, *kubelet.Process) ([]File, error)) func(context.Context) ([]File, error) {
	return func(ctx context.Context) ([]File, error) {
		k, err := h.Kubelet(ctx)
		switch {
		case err != nil:
			return nil, err
		case k == nil:
			return []File{{Name: "none.txt", Data: []byte("no kubelet uses this runtime\n")}}, nil
		}
		return read(ctx, k)
	}
}

// KubeletDir is where the secrets of the kubelet's pods are: by default until one was found.
func (h *Host) KubeletDir() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.kubeletDir, filepath.Join(h.Procs.Root(1), "/var/lib/kubelet/pods"))
}

func (h *Host) kubeletConfig(_ context.Context, k *kubelet.Process) ([]File, error) {
	args, err := h.Procs.Command(k.PID)
	if err != nil {
		return nil, err
	}
	var paths []string
	if file := k.ConfigFile(); file != "" {
		paths = append(paths, file)
	}
	if dir := proc.Flags(args)["config-dir"]; dir != "" {
		paths = append(paths, dir+"/*")
	}
	return Program{PID: k.PID, Args: args}.ReadConfig(h.Procs, paths)
}

func (h *Host) kubeletLog(ctx context.Context, k *kubelet.Process) ([]File, error) {
	return ReadLog(ctx, h.Procs, k.PID, h.Journal)
}

// kernelLog are the last lines of the kernel's log; what processes wrote to it is left out.
func (h *Host) kernelLog(context.Context) ([]File, error) {
	if h.KernelLog == nil {
		return nil, errors.New("this system has none that can be read")
	}
	log, err := h.KernelLog()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	since := h.Now().Add(-LogSince)
	for _, record := range log.Records[max(0, len(log.Records)-LogLines):] {
		if record.Text != "" && record.Time.After(since) {
			fmt.Fprintf(&text, "%s %s\n", record.Time.UTC().Format(time.RFC3339), record.Text)
		}
	}
	if text.Len() == 0 {
		fmt.Fprintf(&text, "nothing within %s\n", duration.HumanDuration(LogSince))
	}
	return []File{{Name: "kernel.txt", Data: text.Bytes()}}, nil
}
