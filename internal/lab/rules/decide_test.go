package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/lab/trace"
)

func TestDecideMatches(t *testing.T) {
	call := Call{Method: "StopContainer", Target: trace.Target{Namespace: "default", Pod: "web", Container: "app"}}
	for text, want := range map[string]bool{
		"method=Stop*": true, "method=Start*": false,
		"method=* pod=web": true, "method=* pod=default/w*": true, "method=* pod=kube-system/web": false,
		"method=* container=app": true, "method=* container=db": false,
	} {
		fired := NewSet([]Rule{parse(t, text+" hang")}).Decide(call)
		if (len(fired) == 1) != want {
			t.Errorf("%s fires: %v", text, !want)
		}
	}
}

func TestDecideCountsCalls(t *testing.T) {
	for nth, want := range map[string]string{"1": "x....", "2-": ".xxxx", "2-3": ".xx.."} {
		s, got := NewSet([]Rule{parse(t, "method=Version hang nth="+nth)}), ""
		for range 5 {
			s.Decide(Call{Method: "Status"})
			got += map[int]string{0: ".", 1: "x"}[len(s.Decide(Call{Method: "Version"}))]
		}
		if got != want || s.Rules[0].Matched != 5 {
			t.Errorf("nth=%s: %s, %d seen, want %s", nth, got, s.Rules[0].Matched, want)
		}
	}
}

func TestProbabilityIsOfTheSeed(t *testing.T) {
	run := func(seed string) (fired []bool, n int) {
		s := NewSet([]Rule{parse(t, "method=* probability=0.25 delay=1s seed="+seed)})
		for range 2000 {
			f := s.Decide(Call{})
			fired, n = append(fired, len(f) == 1), n+len(f)
		}
		return fired, n
	}
	first, n := run("7")
	again, _ := run("7")
	other, _ := run("8")
	if n < 400 || n > 600 {
		t.Errorf("%d of 2000 fired", n)
	}
	if !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Error("the outcome is not that of the seed")
	}
}

// TestRuleActsWhereItDoesSomething has rules whose patterns match methods of several kinds.
func TestRuleActsWhereItDoesSomething(t *testing.T) {
	calls := map[string]Call{
		"answer":  {Method: "StopContainer"},
		"list":    {Method: "ListContainers", List: true},
		"begin":   {Method: "StreamContainers", List: true, Stream: true},
		"message": {Method: "StreamContainers", List: true, Stream: true, Message: true},
		"after 2": {Method: "StreamContainers", List: true, Stream: true, Passed: 2},
		"event":   {Method: "GetContainerEvents", Stream: true, Message: true},
	}
	for text, want := range map[string]string{
		"hang":                   "answer begin list",
		"close":                  "answer begin list",
		"error=Internal":         "answer begin list",
		"error=Internal after=2": "after 2",
		"end":                    "begin",
		"end after=2":            "after 2",
		"end after=3":            "",
		"delay=1s":               "answer event list message",
		"delay=1s hang":          "answer begin list",
		"repeat=1":               "answer event list message",
		"set=id=1":               "answer event list message",
		"omit":                   "list message",
		"fill=3":                 "list message",
		"lost=Internal":          "answer list",
		"stale=1s":               "answer list",
		"drop":                   "event message",
		"pod=web hang":           "",
		"pod=web omit":           "list message",
	} {
		var got []string
		for name, call := range calls {
			s := NewSet([]Rule{parse(t, "method=* "+text)})
			if fired := s.Decide(call); len(fired) == 1 {
				got = append(got, name)
			}
			if s.Rules[0].Matched != s.Rules[0].Fired {
				t.Errorf("%s matched a call that it does nothing with", text)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s fires for %v, want %s", text, got, want)
		}
	}
}

func TestRuleAfterTheEndOfACallDoesNotFire(t *testing.T) {
	stream := Call{Method: "GetContainerEvents", Stream: true, Message: true}
	for text, c := range map[string]struct {
		call  Call
		fires bool
	}{
		"error=Internal": {Call{}, false}, "hang": {Call{}, false}, "close": {Call{}, false},
		"lost=Internal close": {Call{}, true}, "delay=1s": {Call{}, true}, "stale=1s": {Call{}, true},
		"drop": {stream, false}, "repeat=1": {stream, true},
	} {
		s := NewSet([]Rule{parse(t, "method=* "+text), parse(t, "method=* delay=1s")})
		fired := s.Decide(c.call)
		if second := s.Rules[1]; (second.Fired == 1) != c.fires || second.Matched != 1 || len(fired) != 1+second.Fired {
			t.Errorf("after %s: %+v", text, second)
		}
	}
}
