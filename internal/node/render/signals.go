package render

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
)

// signals maps the names of lifecycle.stopSignal to the CRI's numbers.
var signals = func() map[string]runtimeapi.Signal {
	m := map[string]runtimeapi.Signal{}
	for number := range runtimeapi.Signal_name {
		m[cri.SignalName(runtimeapi.Signal(number))] = runtimeapi.Signal(number)
	}
	return m
}()
