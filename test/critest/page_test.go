package main

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	specs, err := readResults([]byte(`<testsuites><testsuite>
		<testcase name="[BeforeSuite]"/>
		<testcase name="[It] [k8s.io] Idempotence StopContainer"/>
		<testcase name="[It] [k8s.io] Streaming runtime should support portforward"><failure/></testcase>
		<testcase name="[It] [k8s.io] NRI pods"><skipped message="skipped - no socket"/></testcase>
	</testsuite></testsuites>`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| Idempotence | 1 | 0 | 0 |", "| **all** | 1 | 1 | 1 |", "support portforward: " + noNetwork, "NRI pods: no socket"} {
		if got := page(specs); !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if err := unexplained(specs); err != nil {
		t.Error(err)
	}
	specs[0].Failure, specs[1].Failure = specs[1].Failure, nil
	if err := unexplained(specs); err == nil || !strings.Contains(err.Error(), "no reason is known: Idempotence") || !strings.Contains(err.Error(), "it passes: Streaming") {
		t.Errorf("error %v", err)
	}
}
