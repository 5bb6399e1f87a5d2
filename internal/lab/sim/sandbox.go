package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/labels"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod sandbox. Its fields are under Runtime.mu.
type sandbox struct {
	id, name  string
	config    *runtimeapi.PodSandboxConfig
	handler   string
	createdAt int64
	ready     bool
	ip        int   // 0 is none
	volumes   layer // what was written to mounts
	loopback  bool  // its containers listen at its address
	hostPorts []net.Listener
}

func (s *sandbox) namespaces() *runtimeapi.NamespaceOption {
	return s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) hostNetwork() bool {
	return s.namespaces().GetNetwork() == runtimeapi.NamespaceMode_NODE
}

func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.ready {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

func (s *sandbox) status() *runtimeapi.PodSandboxStatus {
	network := &runtimeapi.PodSandboxNetworkStatus{Ip: s.address()}
	return &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.createdAt, Network: network,
		Linux:          &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: s.namespaces()}},
		Labels:         s.config.GetLabels(),
		Annotations:    s.config.GetAnnotations(),
		RuntimeHandler: s.handler,
	}
}

// RunPodSandbox creates a sandbox, ready at once.
func (r *Runtime) RunPodSandbox(_ context.Context, req *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	m := req.GetConfig().GetMetadata()
	if m == nil {
		return nil, errorf(codes.Unknown, "sandbox config must include metadata")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.newID()
	name := strings.Join([]string{m.Name, m.Namespace, m.Uid, strconv.Itoa(int(m.Attempt))}, "_")
	if other, taken := r.names[name]; taken {
		return nil, errorf(codes.Unknown, "failed to reserve sandbox name %q: name %q is reserved for %q", name, name, other)
	}
	if h := req.RuntimeHandler; h != "" && h != "runc" && !slices.Contains(r.opts.Handlers, h) {
		return nil, errorf(codes.Unknown, "unable to get OCI runtime for sandbox %q: no runtime for %q is configured", id, h)
	}
	if ns := req.Config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetUsernsOptions(); ns != nil {
		if err := invalidUserns(ns); err != nil {
			return nil, errorf(codes.Unknown, "failed to start sandbox %q: %v", id, err)
		}
	}
	s := &sandbox{id: id, name: name, config: req.Config, handler: req.RuntimeHandler, ready: true, loopback: r.loopback}
	if !s.hostNetwork() {
		if r.network != "" {
			return nil, errorf(codes.Unknown, "failed to setup network for sandbox %q: %s", id, r.network)
		}
		var ok bool
		if s.ip, ok = r.takeIP(); !ok {
			return nil, errorf(codes.ResourceExhausted, "failed to setup network for sandbox %q: no IP addresses available in range set: 10.88.0.0-10.88.255.255", id)
		}
	}
	if err := s.openHostPorts(); err != nil {
		r.releaseIP(s.ip)
		return nil, errorf(codes.Unknown, "failed to setup network for sandbox %q: %v", id, err)
	}
	s.createdAt = r.stamp()
	r.names[name] = id
	r.sandboxes[id] = s
	answer := &runtimeapi.RunPodSandboxResponse{PodSandboxId: id}
	r.known.Learn(req, answer)
	r.emit(id, s, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	r.emit(id, s, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	return answer, nil
}

// invalidUserns is why containerd refuses a user namespace.
func invalidUserns(ns *runtimeapi.UserNamespace) error {
	ids := ns.GetUids()
	switch {
	case ns.Mode == runtimeapi.NamespaceMode_NODE:
		return nil
	case ns.Mode != runtimeapi.NamespaceMode_POD:
		return fmt.Errorf("unsupported user namespace mode: %s", ns.Mode)
	case len(ids) != 1 || len(ns.GetGids()) != 1:
		return fmt.Errorf("only one uid and gid mapping is supported, got %d and %d", len(ids), len(ns.GetGids()))
	case ids[0].ContainerId != 0:
		return errors.New("container UID/GID 0 is not mapped")
	}
	return nil
}

// StopPodSandbox kills the sandbox's containers and takes its network away.
func (r *Runtime) StopPodSandbox(ctx context.Context, req *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	r.mu.Lock()
	s := r.sandbox(req.PodSandboxId)
	r.mu.Unlock()
	if s != nil {
		if err := r.stopSandbox(ctx, s); err != nil {
			return nil, err
		}
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (r *Runtime) stopSandbox(ctx context.Context, s *sandbox) error {
	for _, c := range r.containersIn(s) {
		if err := r.stop(ctx, c, 0); err != nil {
			return errorf(codeOf(err), "failed to stop container %q: %v", c.id, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.closeHostPorts()
	if s.ip != 0 {
		r.releaseIP(s.ip)
		s.ip = 0
	}
	if s.ready {
		s.ready = false
		r.emit(s.id, s, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	return nil
}

// RemovePodSandbox stops the sandbox and removes it and its containers.
func (r *Runtime) RemovePodSandbox(ctx context.Context, req *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	s := r.sandbox(req.PodSandboxId)
	r.mu.Unlock()
	if s == nil {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	if err := r.stopSandbox(ctx, s); err != nil {
		return nil, errorf(codeOf(err), "failed to forcibly stop sandbox %q: %v", s.id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.inSandbox(s) {
		r.remove(c)
	}
	if _, ok := r.sandboxes[s.id]; ok {
		r.emit(s.id, s, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
		delete(r.sandboxes, s.id)
		delete(r.names, s.name)
	}
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// KillSandbox ends a sandbox as if its pause process had died: it is not
// ready any more, and the containers that share its pid namespace die.
func (r *Runtime) KillSandbox(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandbox(id)
	if s == nil || !s.ready {
		return
	}
	s.ready = false
	r.emit(id, s, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	for _, c := range r.containers {
		if c.sandbox == s && c.process != nil && s.namespaces().GetPid() == runtimeapi.NamespaceMode_POD {
			c.process.end(exitKilled)
		}
	}
}

// PodSandboxStatus answers without containers and without a timestamp, as
// containerd does.
func (r *Runtime) PodSandboxStatus(_ context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandbox(req.PodSandboxId)
	if s == nil {
		return nil, errorf(codes.NotFound, "an error occurred when try to find sandbox: not found")
	}
	resp := &runtimeapi.PodSandboxStatusResponse{Status: s.status()}
	if req.Verbose {
		info, err := json.Marshal(map[string]any{"config": s.config}) // as containerd shows it
		if err != nil {
			return nil, err
		}
		resp.Info = map[string]string{"info": string(info)}
	}
	return resp, nil
}

// ListPodSandbox lists the sandboxes that pass the filter, by id.
func (r *Runtime) ListPodSandbox(_ context.Context, req *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := req.GetFilter()
	resp := &runtimeapi.ListPodSandboxResponse{}
	for _, s := range r.sandboxes {
		if !strings.HasPrefix(s.id, f.GetId()) || f.GetState() != nil && f.GetState().State != s.state() ||
			!selects(f.GetLabelSelector(), s.config.GetLabels()) {
			continue
		}
		resp.Items = append(resp.Items, &runtimeapi.PodSandbox{
			Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.createdAt,
			Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.handler,
		})
	}
	slices.SortFunc(resp.Items, func(a, b *runtimeapi.PodSandbox) int { return strings.Compare(a.Id, b.Id) })
	return resp, nil
}

func selects(selector, of map[string]string) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(of))
}
