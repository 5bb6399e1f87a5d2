package render

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// ContainerInput is what Container needs besides the pod and the container.
type ContainerInput struct {
	Node *Node
	// Attempt counts this container's starts from 0. It is the restart count
	// too.
	Attempt uint32
	Image   pod.Image
	// PodIPs are the pod's addresses, primary first, as the sandbox has them.
	// They are empty for a pod on the node's network, which has the node's.
	PodIPs []string
	// Volumes maps each volume of the pod that is a directory or file on the
	// host to its path.
	Volumes map[string]string
	// Objects are the ConfigMaps and Secrets that variables may come from.
	Objects *pod.Objects
	// EnvFile reads a variable from a file of a volume, "" where the file does
	// not set it; nil if there are none.
	EnvFile func(ref *v1.FileKeySelector) (string, error)
	// SubPaths maps the index of a volumeMount to the host path made for its
	// subPath: see SubPaths.
	SubPaths map[int]string
	// ImageVolumes maps each image volume to its image.
	ImageVolumes map[string]*runtimeapi.ImageSpec
	// TerminationLog is the file made for this start's termination message,
	// in Node.ContainerDir; "" mounts none.
	TerminationLog string
	// RecursiveReadOnly reports whether the runtime handler can do it.
	RecursiveReadOnly bool
	// Target is the id of the container whose processes an ephemeral container
	// sees; "" is none.
	Target string
	// Devices are those of CDI specifications that the container has, as
	// VENDOR/CLASS=NAME.
	Devices []string
	// UserNamespace is as in SandboxInput.
	UserNamespace *runtimeapi.UserNamespace
}

// podIPs returns the addresses by which the pod is reached.
func (in ContainerInput) podIPs(p *v1.Pod) []string {
	if p.Spec.HostNetwork && len(in.PodIPs) == 0 {
		return in.Node.IPs
	}
	return in.PodIPs
}

// Container returns the config of one container of the pod. An error is an *Error
// with ReasonContainer (generateContainerConfig in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func Container(p *v1.Pod, c *v1.Container, in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	cfg, err := container(p, c, in)
	if err != nil {
		return nil, containerError(c, err)
	}
	return cfg, nil
}

func containerError(c *v1.Container, err error) *Error {
	return &Error{reason: ReasonContainer, object: fmt.Sprintf("container %q", c.Name), err: err}
}

func container(p *v1.Pod, c *v1.Container, in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	env, err := makeEnvironment(p, c, in)
	if err != nil {
		return nil, err
	}
	mounts, err := mounts(p, c, in, env)
	if err != nil {
		return nil, err
	}
	security, err := containerSecurity(p, c, in)
	if err != nil {
		return nil, err
	}
	resources, err := ContainerResources(p, c, in.Node)
	if err != nil {
		return nil, err
	}
	command, err := env.expandAll(c.Command)
	if err != nil {
		return nil, err
	}
	args, err := env.expandAll(c.Args)
	if err != nil {
		return nil, err
	}
	users := security.NamespaceOptions.UsernsOptions
	for _, m := range mounts {
		m.UidMappings, m.GidMappings = users.Uids, users.Gids
	}
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: in.Attempt},
		Image:       &runtimeapi.ImageSpec{Image: in.Image.ID, UserSpecifiedImage: c.Image},
		Command:     command,
		Args:        args,
		WorkingDir:  c.WorkingDir,
		Envs:        env.keyValues(),
		Mounts:      mounts,
		Labels:      containerLabels(p, c),
		Annotations: containerAnnotations(p, c, in.Attempt),
		LogPath:     LogPath(c.Name, in.Attempt),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  stopSignal(c, in.Node),
		CDIDevices:  cdiDevices(in.Devices),
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       resources,
			SecurityContext: security,
		},
	}, nil
}

func cdiDevices(names []string) []*runtimeapi.CDIDevice {
	var all []*runtimeapi.CDIDevice
	for _, name := range names {
		all = append(all, &runtimeapi.CDIDevice{Name: name})
	}
	return all
}

// stopSignal returns the signal the container asks for, the runtime's default
// (zero) if it asks for none or it does not count.
func stopSignal(c *v1.Container, n *Node) runtimeapi.Signal {
	if !n.StopSignals || c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT
	}
	return signals[string(*c.Lifecycle.StopSignal)]
}

// signals maps the names of lifecycle.stopSignal to the CRI's numbers. The
// CRI spells SIGRTMIN+1 as SIGNAL_SIGRTMINPLUS1.
var signals = func() map[string]runtimeapi.Signal {
	m := map[string]runtimeapi.Signal{}
	spell := strings.NewReplacer("SIGNAL_", "", "PLUS", "+", "MINUS", "-")
	for name, number := range runtimeapi.Signal_value {
		m[spell.Replace(name)] = runtimeapi.Signal(number)
	}
	return m
}()

// The kubelet's reasons for a config that cannot be made
// (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// pkg/kubelet/container/sync_result.go).
const (
	ReasonSandbox   = "CreatePodSandboxError"
	ReasonContainer = "CreateContainerConfigError"
)

// Error is a config that cannot be made. Unwrap gives the cause alone, which
// is what the kubelet writes into a container's waiting message.
type Error struct {
	reason, object string
	err            error
}

func (e *Error) Error() string { return fmt.Sprintf("render %s: %v", e.object, e.err) }

func (e *Error) Unwrap() error { return e.err }

// Reason returns the kubelet's word for it: ReasonSandbox or ReasonContainer.
func (e *Error) Reason() string { return e.reason }

// UserNamespace gives a pod the length ids of the host from first on, as its
// users and groups from 0 on.
func UserNamespace(first, length uint32) *runtimeapi.UserNamespace {
	ids := []*runtimeapi.IDMapping{{HostId: first, ContainerId: 0, Length: length}}
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids, Gids: ids}
}

// Foresee adds to the input of a container, which has all else, what would be
// mounted, pulled and asked for before it is created on a runtime that can do
// it all: for showing a config without a runtime.
func Foresee(p *v1.Pod, c *v1.Container, in *ContainerInput) error {
	in.RecursiveReadOnly = true
	in.ImageVolumes = map[string]*runtimeapi.ImageSpec{}
	for _, v := range p.Spec.Volumes {
		if v.Image == nil {
			continue
		}
		spec := &runtimeapi.ImageSpec{Image: v.Image.Reference, UserSpecifiedImage: v.Image.Reference, Annotations: p.Annotations}
		if p.Spec.RuntimeClassName != nil {
			spec.RuntimeHandler = *p.Spec.RuntimeClassName
		}
		in.ImageVolumes[v.Name] = spec
	}
	parts, err := SubPaths(p, c, *in)
	if err != nil {
		return err
	}
	in.SubPaths = map[int]string{}
	for _, part := range parts {
		in.SubPaths[part.Index] = part.Dir
	}
	return nil
}
