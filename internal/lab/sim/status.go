package sim

import (
	"context"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version names the runtime: a containerd of its own kind.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: r.name, RuntimeVersion: r.version, RuntimeApiVersion: "v1",
	}, nil
}

// SetVersion makes the runtime call itself something else.
func (r *Runtime) SetVersion(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.version = name, version
}

// Status answers the conditions and the handlers.
func (r *Runtime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	network := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: r.network == ""}
	if r.network != "" {
		network.Reason = "NetworkPluginNotReady"
		network.Message = "Network plugin returns error: " + r.network
	}
	resp := &runtimeapi.StatusResponse{
		Info: r.opts.Info,
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, network,
			{Type: "ContainerdHasNoDeprecationWarnings", Status: true},
		}},
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}
	for _, name := range append([]string{"", "runc"}, r.opts.Handlers...) {
		resp.RuntimeHandlers = append(resp.RuntimeHandlers, &runtimeapi.RuntimeHandler{
			Name: name, Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true},
		})
	}
	return resp, nil
}

// RuntimeConfig names the cgroup driver.
func (r *Runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	driver := runtimeapi.CgroupDriver_CGROUPFS
	switch r.opts.CgroupDriver {
	case "none":
		return nil, errorf(codes.Unimplemented, "method RuntimeConfig not implemented")
	case "systemd":
		driver = runtimeapi.CgroupDriver_SYSTEMD
	}
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: driver}}, nil
}
