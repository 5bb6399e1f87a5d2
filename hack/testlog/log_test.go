package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func summary(t *testing.T, events string) (string, bool) {
	t.Helper()
	var out strings.Builder
	failed, err := run(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), failed
}

func TestSkipsAreShownWithTheirReasonAndPassesAreNot(t *testing.T) {
	got, failed := summary(t, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: needs root\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"noise\n"}
{"Action":"run","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`)
	want := `SKIP	p TestA: a_test.go:3: needs root
ok  	p	0.1s
1 passed, 0 failed, 1 skipped
`
	if diff := cmp.Diff(want, got); diff != "" || failed {
		t.Errorf("failed %v (-want +got):\n%s", failed, diff)
	}
}

func TestFailuresAreShownWithAllTheyWrote(t *testing.T) {
	got, failed := summary(t, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: 1, want 2\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`)
	want := `    a_test.go:3: 1, want 2
--- FAIL: TestA (0.00s)
FAIL	p	0.1s
0 passed, 1 failed, 0 skipped
`
	if diff := cmp.Diff(want, got); diff != "" || !failed {
		t.Errorf("failed %v (-want +got):\n%s", failed, diff)
	}
}

func TestPanicIsShownAndFails(t *testing.T) {
	got, failed := summary(t, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: boom\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`)
	if !failed || !strings.Contains(got, "panic: boom") {
		t.Errorf("failed %v:\n%s", failed, got)
	}
}

func TestNothingTestedFails(t *testing.T) {
	if got, failed := summary(t, ""); !failed {
		t.Errorf("an empty log passes: %s", got)
	}
}
