package rules

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
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
	r := parse(t, `method=StopContainer pod=default/web* nth=3-5 error=deadlineexceeded message="too late" delay=3s close`)
	if r.First != 3 || r.Last != 5 || r.Error != codes.DeadlineExceeded || r.Message != "too late" || r.Delay != 3*time.Second || !r.Close {
		t.Errorf("%+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"error=Unavailable":             "method is missing",
		"method=Version":                "does nothing",
		"method=Version error=Bad":      "gRPC code",
		"method=Version wait=3s":        `no key "wait": want one of after, close,`,
		"StopContainer hang":            `no key "StopContainer": did you mean method=StopContainer`,
		"method=Version delay=3":        "duration",
		"method=Version hang nth=5-3":   "range",
		"method=Version hang nth=0":     "range",
		"method=[ hang":                 "pattern",
		`method=Version message="`:      "quote",
		"method=Version set=a":          "PATH=VALUE",
		"method=List* fill=1000000":     "100000",
		"method=Version probability=2 ": "up to 1",

		"method=StopContaner hang":                              "did you mean StopContainer",
		"method=Foo* hang":                                      "no such method",
		"method=ListContainers set=stat=CONTAINER_EXITED":       "no answer of ListContainers has that field",
		"method=ListContainers set=state=EXITED":                "state=EXITED: no answer",
		"method=ContainerStatus set=status.exitCode=x":          "status.exitCode=x: no answer",
		"method=List* omit where=status.state=SANDBOX_READY":    "status.state=SANDBOX_READY: no answer",
		"method=ContainerStatus unset=exitCode":                 "unset=exitCode: no answer of ContainerStatus has",
		"method=Version drop":                                   "drop is for streams",
		"method=StopContainer end":                              "end is for streams",
		"method=StopContainer hang after=3":                     "after is for streams",
		"method=GetContainerEvents lost=Internal":               "lost is for calls with one answer",
		"method=Stream* stale=1s":                               "stale is for calls with one answer",
		"method=GetContainerEvents omit":                        "omit is for lists",
		"method=ContainerStatus fill=3":                         "fill is for lists",
		"method=RunPodSandbox copies=3":                         "copies is for lists",
		"method=GetContainerEvents drop after=3":                "after is when",
		"method=Version hang where=a=b":                         "where is of an answer",
		"method=GetContainerEvents end pod=web":                 "of messages",
		"method=Version error=Internal repeat=1":                "leave no answer",
		"method=GetContainerEvents end drop":                    "leave no answer",
		"method=ContainerStatus lost=Internal set=a=b":          "leave no answer",
		"method=* hang message=" + strings.Repeat("x", maxText): "longer than",
	} {
		if _, err := Parse("--inject", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A rule of an act is only refused where the act does nothing with any of the methods.
func TestParseAcceptsPatternsOfSeveralKinds(t *testing.T) {
	for _, text := range []string{
		"method=* drop", "method=* stale=5s", "method=*Containers fill=3", "method=* lost=Internal", "method=* pod=web error=Internal",
		"method=GetContainerEvents drop pod=web", "method=GetContainerEvents end after=3 nth=1", "method=Version lost=Internal repeat=1 close", "method=StreamContainers omit",
	} {
		parse(t, text)
	}
}

func FuzzTextOfARuleIsTheRule(f *testing.F) {
	for _, text := range []string{`method=Version error=Internal message="a \"b\" c\\" nth=3-`, `method="Version" message= hang=true`, `method=Version set=a="b c"`, `method=Version\* hang`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("x", text)
		if err != nil {
			return
		}
		again, err := Parse("x", r.Text)
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%q is %+v, its text %q is %+v, %v", text, r, r.Text, again, err)
		}
	})
}

func TestTextOfAFileIsThatOfALine(t *testing.T) {
	all, err := ParseFile("f.yaml", []byte("- method: ListContainers\n  omit: true\n  where: [state=CONTAINER_EXITED, 'id=a \"b\"']\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `method=ListContainers omit where=state=CONTAINER_EXITED where="id=a \"b\""`; all[0].Text != want {
		t.Errorf("%s, want %s", all[0].Text, want)
	}
	line := parse(t, all[0].Text)
	if line.Source = all[0].Source; !reflect.DeepEqual(line, all[0]) {
		t.Errorf("%+v, want %+v", line, all[0])
	}
}

func TestParseFileNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"- method: Version\n  hang: true\n- method: Version\n  wait: 3s\n": "f.yaml:4: ",
		"- method: Version\n":               "f.yaml:1: ",
		"method: Version\n":                 "f.yaml:1: ",
		"- hang\n":                          "f.yaml:1: ",
		"- method: '*'\n  set:\n  - a: b\n": "f.yaml:3: ",
		"- method: Version\n\thang: true\n": "f.yaml: ",
	} {
		if _, err := ParseFile("f.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
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
