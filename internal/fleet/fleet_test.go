package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTargetsUseTheNewestReadyPodOfEachNode(t *testing.T) {
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	got := Targets([]string{"n3", "n1", "n2", "n4", "n1"}, []Inspector{
		{"a", "n1", true, old}, {"b", "n1", true, young}, {"c", "n1", false, time.Unix(3, 0)},
		{"d", "n2", false, old},
		{"e", "n4", true, old}, {"f", "n4", true, old},
		{"g", "other", true, old},
	})
	want := []Target{
		{Node: "n1", Pod: "b"},
		{Node: "n2", Pod: "d", Failure: &Failure{Reason: NotReady, Message: "pod d is not ready"}},
		{Node: "n3", Failure: &Failure{Reason: NoInspector, Message: "no inspector pod on this node, or no such node"}},
		{Node: "n4", Pod: "f"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorstIsTheHighestExitCode(t *testing.T) {
	dead := &Failure{Reason: TimedOut}
	for _, c := range []struct {
		outcomes []Outcome
		want     int
	}{
		{nil, 0}, {[]Outcome{{}, {}}, 0}, {[]Outcome{{}, {ExitCode: 1}}, 1},
		{[]Outcome{{ExitCode: 1}, {Failure: dead}}, 3}, {[]Outcome{{ExitCode: 7}, {Failure: dead}}, 7},
		{[]Outcome{{ExitCode: 2, Failure: &Failure{Reason: CommandFailed, ExitCode: 2}}}, 2},
		{[]Outcome{{}, {ExitCode: -1, Failure: &Failure{Reason: CommandFailed, ExitCode: -1}}}, 3},
	} {
		if got := Worst(c.outcomes, 3); got != c.want {
			t.Errorf("%v: %d, want %d", c.outcomes, got, c.want)
		}
	}
}

func TestColumnOrderAcrossVersions(t *testing.T) {
	old, young := []string{"POD", "AGE"}, []string{"POD", "STATE", "AGE", "OWNER"}
	for _, order := range [][][]string{{old, young}, {young, old}} {
		all := MergeHeaders(order...)
		if !slices.Equal(all, young) {
			t.Errorf("columns %v", all)
		}
		if got := ArrangeCells(all, old, []string{"web", "3m"}); !slices.Equal(got, []string{"web", "-", "3m", "-"}) {
			t.Errorf("row %v", got)
		}
		if got := ArrangeCells(all, young, []string{"web"}); !slices.Equal(got, []string{"web", "-", "-", "-"}) {
			t.Errorf("short row %v", got)
		}
	}
}

// Hostile nodes print a thousand columns each.
func TestColumnsOfAllNodesAreKept(t *testing.T) {
	headers := [][]string{}
	for i := range 10 {
		var junk []string
		for j := range 1000 {
			junk = append(junk, fmt.Sprint(i, j))
		}
		headers = append(headers, junk)
	}
	headers = append(headers, []string{"POD", "AGE"}, []string{"POD", "AGE"})
	all := MergeHeaders(headers...)
	if len(all) != MaxColumns || !slices.Contains(all, "POD") || !slices.Contains(all, "AGE") {
		t.Errorf("%d columns: %v", len(all), all)
	}
}

// Two bytes of JSON are an item, which takes hundreds of bytes.
func TestItemsAreBounded(t *testing.T) {
	for _, text := range []string{"[" + strings.Repeat("1,", MaxItems) + "1]", strings.Repeat("1\n", MaxItems+1), strings.Repeat("[1]", MaxItems+1)} {
		if _, err := Values([]byte(text)); !errors.Is(err, ErrTooMany) {
			t.Errorf("%.10s: %v", text, err)
		}
	}
	if all, err := Values([]byte("[" + strings.Repeat("1,", MaxItems-1) + "1]")); err != nil || len(all) != MaxItems {
		t.Errorf("%d, %v", len(all), err)
	}
}

// A hostile node names another one in each way that a JSON reader accepts.
func TestNodeNameIsEnforced(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"node":"evil","b":[1]}`:             `{"node":"n1","a":1,"b":[1]}`,
		`{"NODE":"evil","\u006eode":"evil","a":{}}`: `{"node":"n1","a":{}}`,
		`{}`:           `{"node":"n1"}`,
		`[1,2]`:        `{"node":"n1","value":[1,2]}`,
		`"x"`:          `{"node":"n1","value":"x"}`,
		`{"a":"\"}x"}`: `{"node":"n1","a":"\"}x"}`,
	} {
		got, err := WithNode("n1", json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1}{"b":2}`, `{"a":1},"node":"evil"`} {
		if got, err := WithNode("n1", json.RawMessage(in)); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestValuesAreItemsObjectsAndLines(t *testing.T) {
	got, err := Values([]byte("[{\"a\":1},2]\n{\"b\":2}\n\"x\""))
	if err != nil || len(got) != 4 || string(got[2]) != `{"b":2}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Values([]byte(`{"a":`)); err == nil {
		t.Error("half an object is accepted")
	}
}

func TestLinesHaveNode(t *testing.T) {
	if got := Prefix("n1", "a\n\nb"); got != "n1: a\nn1: \nn1: b\n" {
		t.Errorf("%q", got)
	}
	if got := Prefix("n1", ""); got != "" {
		t.Errorf("%q", got)
	}
}

// A node's answer is arbitrary bytes: neither panics, and what WithNode returns is one
// object that names the node.
func FuzzWithNode(f *testing.F) {
	f.Add([]byte(`{"a":1,"node":"evil"}`))
	f.Add([]byte(`[{},[],"x"]`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		values, _ := Values(answer)
		for _, v := range append(values, answer) {
			item, err := WithNode("n1", v)
			if err != nil {
				continue
			}
			var read struct{ Node string }
			if err := json.Unmarshal(item, &read); err != nil || read.Node != "n1" {
				t.Errorf("%s: %s: %v", v, item, err)
			}
		}
	})
}
