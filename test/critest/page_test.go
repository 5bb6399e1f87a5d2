package main

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/test/junit"
)

func TestPage(t *testing.T) {
	const stop, hosts = prefix + "Idempotence StopContainer", prefix + "Security Context runtime should support HostPID"
	specs := junit.Results{
		stop: {Outcome: junit.Passed}, hosts: {Outcome: junit.Failed, Why: "Timed out"},
		prefix + "NRI pods": {Outcome: junit.Skipped, Why: "no socket"},
	}
	for _, want := range []string{"| Idempotence | 1 | 0 | 0 |", "| **all** | 1 | 1 | 1 |", "support HostPID: " + knownFailures["support HostPID"], "NRI pods: no socket"} {
		if got := page(specs); !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if err := unexplained(specs); err != nil {
		t.Error(err)
	}
	specs[stop], specs[hosts] = specs[hosts], specs[stop]
	if err := unexplained(specs); err == nil || !strings.Contains(err.Error(), "no reason is known: "+stop) || !strings.Contains(err.Error(), "it passes: "+hosts) {
		t.Errorf("error %v", err)
	}
}
