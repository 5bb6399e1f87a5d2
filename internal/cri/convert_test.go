package cri

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestStopSignalsHaveTheirNamesInTheAPI(t *testing.T) {
	for signal, want := range map[runtimeapi.Signal]v1.Signal{
		runtimeapi.Signal_SIGNAL_SIGTERM:         v1.SIGTERM,
		runtimeapi.Signal_SIGNAL_SIGRTMIN:        v1.SIGRTMIN,
		runtimeapi.Signal_SIGNAL_SIGRTMINPLUS3:   v1.SIGRTMINPLUS3,
		runtimeapi.Signal_SIGNAL_SIGRTMAXMINUS14: v1.SIGRTMAXMINUS14,
	} {
		if got := toContainerStatus(&runtimeapi.ContainerStatus{StopSignal: signal}, "s").StopSignal; got != string(want) {
			t.Errorf("%s is %q, want %q", signal, got, want)
		}
	}
}

// That a runtime gives no address is one thing, that it gives no network
// information another.
func TestASandboxWithoutNetworkInformationHasAnUnknownNetwork(t *testing.T) {
	for name, tt := range map[string]struct {
		network *runtimeapi.PodSandboxNetworkStatus
		want    bool
	}{
		"none":       {nil, true},
		"no address": {&runtimeapi.PodSandboxNetworkStatus{}, false},
		"address":    {&runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.7"}, false},
		"unreadable": {&runtimeapi.PodSandboxNetworkStatus{Ip: "here"}, true},
	} {
		if got := toSandboxStatus(&runtimeapi.PodSandboxStatus{Network: tt.network}).NetworkUnknown; got != tt.want {
			t.Errorf("%s: NetworkUnknown %v", name, got)
		}
	}
}
