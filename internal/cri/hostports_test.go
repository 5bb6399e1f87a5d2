package cri

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestHostPortsAreReadFromWhatARuntimeShows(t *testing.T) {
	want := []v1.ContainerPort{{Protocol: v1.ProtocolUDP, ContainerPort: 80, HostPort: 18080, HostIP: "127.0.0.1"}}
	for info, want := range map[string][]v1.ContainerPort{
		`{"config":{"port_mappings":[{"protocol":1,"container_port":80,"host_port":18080,"host_ip":"127.0.0.1"}]}}`:                                                        want,
		`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.PortMappings":"[{\"HostPort\":18080,\"ContainerPort\":80,\"Protocol\":\"UDP\",\"HostIP\":\"127.0.0.1\"}]"}}}`: want,
		`{"config":{"port_mappings":[{"container_port":80,"host_port":1}]}}`:                                                                                               {{Protocol: v1.ProtocolTCP, ContainerPort: 80, HostPort: 1}},
		`{"config":{},"runtimeSpec":{"annotations":{}}}`:                                                                                                                   nil,
	} {
		got, err := hostPortsIn(info)
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v", info, got, err)
		}
	}
	for _, info := range []string{`{`, `{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.PortMappings":"x"}}}`} {
		if _, err := hostPortsIn(info); err == nil {
			t.Errorf("%s: no error", info)
		}
	}
}

func hostPortsIn(info string) ([]v1.ContainerPort, error) {
	v, err := readVerbose(map[string]string{"info": info}, "sandbox s")
	if err != nil {
		return nil, err
	}
	return v.hostPorts()
}
