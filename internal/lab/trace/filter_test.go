package trace

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/lab/relay"
)

func TestFilter(t *testing.T) {
	e := &Entry{
		Method: "StopPodSandbox", Caller: relay.Caller{PID: 812, Comm: "kubelet"}, Target: Target{Namespace: "default", Pod: "web-1"},
		Took: 300 * time.Millisecond, Code: codes.NotFound,
	}
	for name, c := range map[string]struct {
		filter Filter
		want   bool
	}{
		"none":                     {Filter{}, true},
		"method":                   {Filter{Methods: []string{"stoppodsandbox"}}, true},
		"pattern of methods":       {Filter{Methods: []string{"List*", "Stop*"}}, true},
		"another method":           {Filter{Methods: []string{"Stop"}}, false},
		"pod":                      {Filter{Pods: []string{"web-1"}}, true},
		"pod with its namespace":   {Filter{Pods: []string{"default/web-*"}}, true},
		"pod of another namespace": {Filter{Pods: []string{"kube/web-1"}}, false},
		"caller by pid":            {Filter{Callers: []string{"812"}}, true},
		"caller by name":           {Filter{Callers: []string{"kube*"}}, true},
		"another caller":           {Filter{Callers: []string{"81"}}, false},
		"slow":                     {Filter{Slower: 300 * time.Millisecond}, true},
		"not slow enough":          {Filter{Slower: time.Second}, false},
		"failed":                   {Filter{Failed: true}, true},
		"all of several":           {Filter{Failed: true, Pods: []string{"web-1"}, Methods: []string{"List*"}}, false},
	} {
		if got := c.filter.Selects(e); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (Filter{Pods: []string{"*"}}).Selects(&Entry{}) {
		t.Error("a call about no pod is selected by a pod")
	}
	for _, e := range []*Entry{{}, {Stream: true, Code: codes.Canceled}, {InFlight: true, Code: codes.Unknown}} {
		if (Filter{Failed: true}).Selects(e) {
			t.Errorf("%+v did not fail", e)
		}
	}
	if got := (Filter{Pods: []string{"a"}, Methods: []string{"[a"}}).Check(); got != "[a" {
		t.Errorf("%q", got)
	}
}
