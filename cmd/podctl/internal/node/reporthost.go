package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/sys/proc"
)

// runtimeProcess is the process that serves the endpoint.
func (r *reporter) runtimeProcess(ctx context.Context) (report.Program, error) {
	endpoint, _, err := shell.FindSockets(ctx, r.patient())
	if err != nil {
		return report.Program{}, err
	}
	server := cri.ServerOf(endpoint)
	if server.PID == 0 {
		return report.Program{}, fmt.Errorf("the process that serves %s is not visible", endpoint.Runtime)
	}
	args, err := r.env.Procs.Command(server.PID)
	return report.Program{PID: server.PID, Comm: server.Comm, Args: args}, err
}

func (r *reporter) runtimeConfig(ctx context.Context) ([]report.File, error) {
	p, err := r.runtimeProcess(ctx)
	if err != nil {
		return nil, err
	}
	return p.ReadConfig(r.env.Procs, p.RuntimeConfig())
}

func (r *reporter) runtimeLog(ctx context.Context) ([]report.File, error) {
	p, err := r.runtimeProcess(ctx)
	if err != nil {
		return nil, err
	}
	return report.ReadLog(ctx, r.env.Procs, p.PID, r.env.Journal)
}

// kubelet finds the kubelet that uses the runtime, nil if none does.
func (r *reporter) kubelet(ctx context.Context) (*kubelet.Process, error) {
	endpoint, _, err := shell.FindSockets(ctx, r.patient())
	if err != nil {
		return nil, err
	}
	return kubelet.Find(ctx, endpoint.Runtime)
}

// ofKubelet returns what collects a part about the kubelet.
func (r *reporter) ofKubelet(read func(context.Context, *kubelet.Process) ([]report.File, error)) func(context.Context) ([]report.File, error) {
	return func(ctx context.Context) ([]report.File, error) {
		k, err := r.kubelet(ctx)
		switch {
		case err != nil:
			return nil, err
		case k == nil:
			return []report.File{{Name: "none.txt", Data: []byte("no kubelet uses this runtime\n")}}, nil
		}
		return read(ctx, k)
	}
}

// setKubeletDir sets where the secrets of the kubelet's pods are.
func (r *reporter) setKubeletDir(k *kubelet.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kubeletDir = filepath.Join(r.env.Procs.Root(k.PID), k.PodDirs())
}

func (r *reporter) kubeletConfig(_ context.Context, k *kubelet.Process) ([]report.File, error) {
	r.setKubeletDir(k)
	args, err := r.env.Procs.Command(k.PID)
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
	return report.Program{PID: k.PID, Args: args}.ReadConfig(r.env.Procs, paths)
}

func (r *reporter) kubeletLog(ctx context.Context, k *kubelet.Process) ([]report.File, error) {
	return report.ReadLog(ctx, r.env.Procs, k.PID, r.env.Journal)
}

// kernelLog are the last lines of the kernel's log; what processes wrote to it is left out.
func (r *reporter) kernelLog(context.Context) ([]report.File, error) {
	if r.env.KernelLog == nil {
		return nil, errors.New("this system has none that can be read")
	}
	log, err := r.env.KernelLog()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	since := r.env.Now().Add(-report.LogSince)
	for _, record := range log.Records[max(0, len(log.Records)-report.LogLines):] {
		if record.Text != "" && record.Time.After(since) {
			fmt.Fprintf(&text, "%s %s\n", record.Time.UTC().Format(time.RFC3339), record.Text)
		}
	}
	if text.Len() == 0 {
		fmt.Fprintf(&text, "nothing within %s\n", output.ShortTime(report.LogSince))
	}
	return []report.File{{Name: "kernel.txt", Data: text.Bytes()}}, nil
}
