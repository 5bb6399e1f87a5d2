package look

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// readNames reads the named ports of the pod's containers, the newest of each name;
// all that are asked for must be there.
func (f *podForward) readNames(ctx context.Context, t target.Target, sandbox string) (map[string]uint16, error) {
	named, protocols := map[string]uint16{}, map[string]v1.Protocol{}
	for _, c := range t.Pod.Runtime.Containers {
		if c.SandboxID != sandbox {
			continue
		}
		status, err := f.s.Client.ContainerStatus(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		for _, p := range containerPorts(status) {
			if _, known := named[p.Name]; !known && p.Name != "" {
				named[p.Name], protocols[p.Name] = uint16(p.ContainerPort), p.Protocol
			}
		}
	}
	for _, p := range f.o.ports {
		if p.Name == "" {
			continue
		}
		if _, ok := named[p.Name]; !ok {
			advice := "its ports have no names: use the number"
			if len(named) > 0 {
				advice = "one of: " + strings.Join(slices.Sorted(maps.Keys(named)), ", ")
			}
			return nil, hint.Errorf(advice, "no port of %s is named %q", t.Pod.DisplayName(), p.Name)
		}
		if protocol := protocols[p.Name]; protocol != "" && protocol != v1.ProtocolTCP {
			return nil, fmt.Errorf("port %q of %s is %s: the CRI forwards TCP only", p.Name, t.Pod.DisplayName(), protocol)
		}
	}
	return named, nil
}

// containerPorts are the ports of a container's specification, none if they are
// not known.
func containerPorts(status *pod.ContainerStatus) []v1.ContainerPort {
	var ports []v1.ContainerPort
	if err := json.Unmarshal([]byte(status.Annotations[pod.PortsAnnotation]), &ports); err != nil {
		return nil
	}
	return ports
}

func portText(p stream.Port, number uint16) string {
	if p.Name != "" {
		return fmt.Sprintf("%d (%s)", number, p.Name)
	}
	return fmt.Sprint(number)
}
