package render

import (
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
