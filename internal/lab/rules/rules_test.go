package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
)

func parse(t *testing.T, text string) Rule {
	t.Helper()
	r, err := Parse("--inject", text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRule(t *testing.T) {
	r := parse(t, `method=StopContainer pod=default/web* nth=3-5 error=deadlineexceeded message="too late" delay=1s-3s close`)
	if r.First != 3 || r.Last != 5 || r.Error != codes.DeadlineExceeded || r.Message != "too late" || r.DelayMin != time.Second || r.DelayMax != 3*time.Second || !r.Close {
		t.Errorf("%+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"error=Unavailable":              "method is missing",
		"method=Version":                 "does nothing",
		"method=Version error=Bad":       "gRPC code",
		"method=Version wait=3s":         `no "wait"`,
		"method=Version delay=3s-1s":     "range",
		"method=Version hang nth=5-3":    "range",
		"method=Version hang nth=0":      "range",
		"method=[ hang":                  "pattern",
		`method=Version message="`:       "quote",
		"method=Version set=a":           "PATH=VALUE",
		"method=List* fill=1000000":      "100000",
		"method=Version probability=2 ":  "up to 1",
		"method=V hang from=3s until=1s": "until",
	} {
		if _, err := Parse("--inject", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParseFileNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"- method: Version\n  hang: true\n- method: Version\n  wait: 3s\n": "f.yaml:4: ",
		"- method: Version\n":             "f.yaml:1: ",
		"method: Version\n":               "f.yaml:1: ",
		"- hang\n":                        "f.yaml:1: ",
		"- method: V\n  set:\n  - a: b\n": "f.yaml:3: ",
		"- method: V\n\thang: true\n":     "f.yaml: ",
	} {
		if _, err := ParseFile("f.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestDecideMatches(t *testing.T) {
	call := Call{Method: "StopContainer", Target: trace.Target{Namespace: "default", Pod: "web", Container: "app"}, Caller: relay.Caller{PID: 7, Comm: "kubelet"}}
	for text, want := range map[string]bool{
		"method=Stop*": true, "method=Start*": false,
		"method=* pod=web": true, "method=* pod=default/w*": true, "method=* pod=kube-system/web": false,
		"method=* container=app": true, "method=* container=db": false,
		"method=* caller=7": true, "method=* caller=kube*": true, "method=* caller=crictl": false,
		"method=* from=1m": false, "method=* until=10s": false, "method=* from=1s until=1m": true,
	} {
		fired := NewSet([]Rule{parse(t, text+" hang")}).Decide(call, false, 30*time.Second)
		if (len(fired) == 1) != want {
			t.Errorf("%s fires: %v", text, !want)
		}
	}
}

func TestDecideCountsCalls(t *testing.T) {
	for nth, want := range map[string]string{"1": "x....", "2-": ".xxxx", "2-3": ".xx.."} {
		s, got := NewSet([]Rule{parse(t, "method=Version hang nth="+nth)}), ""
		for range 5 {
			s.Decide(Call{Method: "Status"}, false, 0)
			got += map[int]string{0: ".", 1: "x"}[len(s.Decide(Call{Method: "Version"}, false, 0))]
		}
		if got != want || s.Rules[0].Seen != 5 {
			t.Errorf("nth=%s: %s, %d seen, want %s", nth, got, s.Rules[0].Seen, want)
		}
	}
}

func TestProbabilityIsOfTheSeed(t *testing.T) {
	run := func(seed string) (fired []bool, delays []time.Duration, n int) {
		s := NewSet([]Rule{parse(t, "method=* probability=0.25 delay=1s-3s seed="+seed)})
		for range 2000 {
			f := s.Decide(Call{}, false, 0)
			fired = append(fired, len(f) == 1)
			for _, one := range f {
				if one.Delay < time.Second || one.Delay >= 3*time.Second {
					t.Fatal(one.Delay)
				}
				delays, n = append(delays, one.Delay), n+1
			}
		}
		return fired, delays, n
	}
	first, delays, n := run("7")
	again, same, _ := run("7")
	other, _, _ := run("8")
	if n < 400 || n > 600 {
		t.Errorf("%d of 2000 fired", n)
	}
	if !equal(first, again) || !equal(delays, same) || equal(first, other) {
		t.Error("the outcome is not that of the seed")
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func list() (*runtimeapi.ListContainersResponse, *trace.Names) {
	names := &trace.Names{}
	names.Learn(nil, &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
		{Id: "s1", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "web"}},
		{Id: "s2", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "db"}},
	}})
	all := &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{
		{Id: "c1-0000000", PodSandboxId: "s1", Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		{Id: "c2-0000000", PodSandboxId: "s2", Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: runtimeapi.ContainerState_CONTAINER_EXITED},
	}}
	names.Learn(nil, all)
	return all, names
}

func TestEditSelectsEntries(t *testing.T) {
	for text, want := range map[string]string{
		"omit pod=web":                              "c2-0000000/2",
		"omit where=state=CONTAINER_RUNNING":        "c2-0000000/2",
		"copies=2 pod=default/db":                   "c1-0000000/1 c2-0000000/2 c2-0000001/2 c2-0000002/2",
		"fill=5":                                    "c1-0000000/1 c2-0000000/2 c1-0000001/1 c2-0000002/2 c1-0000003/1",
		"set=state=CONTAINER_UNKNOWN pod=web":       "c1-0000000/3 c2-0000000/2",
		"unset=state":                               "c1-0000000/0 c2-0000000/0",
		"set=metadata.attempt=4 unset=podSandboxId": "c1-0000000/1 c2-0000000/2",
	} {
		all, names := list()
		r := parse(t, "method=ListContainers "+text)
		if err := r.Edit(all, names); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range all.GetContainers() {
			got = append(got, c.GetId()+"/"+string(rune('0'+int(c.GetState()))))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

func TestEditOfWrongFieldIsAnError(t *testing.T) {
	for _, text := range []string{"set=colour=red", "set=status.exitCode=many", "set=status={"} {
		r := parse(t, "method=ContainerStatus "+text)
		if err := r.Edit(&runtimeapi.ContainerStatusResponse{}, &trace.Names{}); err == nil || !strings.Contains(err.Error(), "--inject") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGalleryNamesIssues(t *testing.T) {
	files, _ := filepath.Glob("../../../examples/faults/*.yaml")
	if len(files) < 9 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseFile(file, text); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(text), "https://github.com/") {
			t.Errorf("%s names no issue", file)
		}
	}
}
