package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// serveRules returns the path of the rules of a proxy with two rules, and what it was told.
func serveRules(t *testing.T) (socket string, told *[]int) {
	t.Helper()
	p, err := New(Options{Now: time.Now}, rules.NewSet(parse(t, "method=Version hang", "method=Status error=Internal message=\"a b\"")), &trace.Names{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	socket = RulesSocket(filepath.Join(t.TempDir(), "s"))
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	told = new([]int)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: p.RulesHandler(func(_ rules.Change, n int) { *told = append(*told, n) })}}
	server.Start()
	t.Cleanup(server.Close)
	return socket, told
}

var first, second = Rule{Number: 1, Source: "--inject", Rule: "method=Version hang"}, Rule{Number: 2, Source: "--inject", Rule: `method=Status error=Internal message="a b"`}

func TestAskRules(t *testing.T) {
	socket, told := serveRules(t)
	third := Rule{Number: 3, Source: "f.yaml:2", Rule: "method=*Status delay=1s"}
	fourth := Rule{Number: 4, Source: "--add", Rule: "method=Version close"}
	for _, step := range []struct {
		request *RulesRequest
		want    []Rule
	}{
		{nil, []Rule{first, second}},
		{&RulesRequest{}, []Rule{first, second}},
		{&RulesRequest{Remove: []int{1}, FileName: "/etc/f.yaml", File: "# a\n- method: '*Status'\n  delay: 1s\n", Add: []string{fourth.Rule}}, []Rule{second, third, fourth}},
		{nil, []Rule{second, third, fourth}},
		{&RulesRequest{RemoveAll: true}, []Rule{}},
	} {
		got, err := AskRules(t.Context(), socket, step.request)
		if err != nil || !reflect.DeepEqual(got, step.want) {
			t.Errorf("%+v: %+v, %v, want %+v", step.request, got, err, step.want)
		}
	}
	if want := "[2 3 0]"; fmt.Sprint(*told) != want {
		t.Errorf("told of %v rules, want %s", *told, want)
	}
}

func TestAMistakeChangesNoRule(t *testing.T) {
	socket, told := serveRules(t)
	for want, request := range map[string]RulesRequest{
		"there is no rule 7":                {Remove: []int{1, 7}},
		"--add: a rule has no key \"wait\"": {RemoveAll: true, Add: []string{"method=Version hang", "method=Version wait=3s"}},
		"--add: drop is for streams":        {RemoveAll: true, Add: []string{"method=Version drop"}},
		"f.yaml:1: ":                        {RemoveAll: true, FileName: "f.yaml", File: "- hang"},
		"1002 rules, more than 1000":        {File: strings.Repeat("- {method: Version, hang: true}\n", 1000)},
		"want a list of rules, of 1000":     {File: strings.Repeat("- {method: Version, hang: true}\n", 1001)},
		"file name of more than":            {FileName: strings.Repeat("x", 5000)},
		"request body too large":            {File: strings.Repeat("#", 3<<20)},
		"more than 10000":                   {Remove: make([]int, 20000)},
	} {
		if _, err := AskRules(t.Context(), socket, &request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got, err := AskRules(t.Context(), socket, nil); err != nil || !reflect.DeepEqual(got, []Rule{first, second}) || len(*told) > 0 {
		t.Errorf("%+v, %v, told of %v", got, err, *told)
	}
}
