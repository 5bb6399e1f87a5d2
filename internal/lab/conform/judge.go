package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// Verdict is what becomes of a behaviour.
type Verdict string

// The verdicts.
const (
	OK          Verdict = "ok"
	Deviates    Verdict = "deviates"
	Unsupported Verdict = "unsupported"
)

// Result is the verdict of a behaviour.
type Result struct {
	Name    string  `json:"name"`             // of the behaviour
	About   string  `json:"about"`            // the behaviour in a line
	Runtime string  `json:"runtime"`          // its name and version
	Verdict Verdict `json:"verdict"`          // ok, deviates, unsupported
	Detail  string  `json:"detail,omitempty"` // what deviates, or why the behaviour is not supported
	Known   *Known  `json:"known,omitempty"`  // the deviation is one that the runtime is known for
	Seconds float64 `json:"seconds"`          // from the pod's manifest until it was gone
}

// Unexpected reports whether the behaviour deviates in a way that is not known.
func (r Result) Unexpected() bool { return r.Verdict == Deviates && r.Known == nil }

// Judge returns the result of a behaviour on a runtime.
func (b Behaviour) Judge(s *Observation, runtime, version string) Result {
	r := Result{Name: b.Name, About: b.About, Runtime: runtime + " " + strings.TrimPrefix(version, "v"), Verdict: OK}
	view := s.view()
	switch wrong := deviations(view, b.Expect); {
	case s.Refused != "":
		r.Verdict, r.Detail = Unsupported, s.Refused
	case s.Late: // nothing is known of a pod that did not come so far
		r.Verdict, r.Detail = Deviates, "the pod did not come so far in time: "+strings.TrimSuffix(describe(s.Status)+"; "+s.Problem, "; ")
	case len(wrong) > 0 && b.Unsupported.When != nil && deviations(view, b.Unsupported.When) == nil:
		r.Verdict, r.Detail = Unsupported, b.Unsupported.Why
	case len(wrong) > 0:
		r.Verdict, r.Detail, r.Known = Deviates, strings.Join(wrong, "; "), known(b.Name, runtime, version)
		if slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, " is null") }) {
			r.Detail += " (" + describe(s.Ended) + ")"
		}
	}
	return r
}

// deviations returns what is not as expected, nil if all is.
func deviations(view any, expect map[string]any) (wrong []string) {
	for _, path := range slices.Sorted(maps.Keys(expect)) {
		if got := at(view, path); !holds(view, got, expect[path]) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", path, text(got), text(resolved(view, expect[path]))))
		}
	}
	return wrong
}

// maxText is the length of a value in a result.
const maxText = 300

func text(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%.*q", maxText, s)
	}
	all, _ := json.Marshal(value) // it was read from JSON
	return fmt.Sprintf("%.*s", maxText, all)
}

// missing is what a path leads to that has no value: nothing is equal to it.
type missing struct{}

// resolved returns a wanted value with what is at its paths.
func resolved(view, want any) any {
	switch w := want.(type) {
	case string:
		path, ok := strings.CutPrefix(w, "=")
		if value := at(view, path); ok && value != nil {
			return value
		} else if ok {
			return missing{}
		}
	case []any:
		all := slices.Clone(w)
		for i := range all {
			all[i] = resolved(view, all[i])
		}
		return all
	}
	return want
}

// holds reports whether a value is what is wanted of it.
func holds(view, got, want any) bool {
	tests, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, resolved(view, want))
	}
	for test, want := range tests {
		want = resolved(view, want)
		list, _ := want.([]any)
		number, isNumber := got.(float64)
		bound, isBound := want.(float64)
		is := func(value any) bool { return reflect.DeepEqual(got, value) }
		has := func(value any) bool { return contains(got, value) }
		var holds bool
		switch test {
		case "not":
			holds = got != nil && want != missing{} && !is(want)
		case "in":
			holds = slices.ContainsFunc(list, is)
		case "has":
			holds = !slices.ContainsFunc(list, func(value any) bool { return !has(value) })
		case "hasAny":
			holds = slices.ContainsFunc(list, has)
		case "lacks":
			holds = got != nil && !slices.ContainsFunc(list, has)
		case "atLeast":
			holds = isNumber && isBound && number >= bound
		case "below":
			holds = isNumber && isBound && number < bound
		case "matches":
			holds = got != nil && regexp.MustCompile(want.(string)).MatchString(strings.Trim(fmt.Sprint(got), "[]"))
		default:
			panic("behaviours.yaml: no test " + test)
		}
		if !holds {
			return false
		}
	}
	return true
}

// contains reports whether a list has a value, or a map a key.
func contains(in, value any) bool {
	switch in := in.(type) {
	case []any:
		return slices.ContainsFunc(in, func(v any) bool { return reflect.DeepEqual(v, value) })
	case map[string]any:
		_, ok := in[value.(string)]
		return ok
	}
	return false
}

// steps are those of a path: a.b[c.d][0].length.
var steps = lazyregexp.New(`[^.\[\]]+|\[[^\]]*\]`)

// at returns what is at a path, nil if there is nothing.
func at(view any, path string) any {
	for _, step := range steps().FindAllString(path, -1) {
		step = strings.Trim(step, "[]")
		switch value := view.(type) {
		case map[string]any:
			view = value[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(value) {
				view = value[i]
			} else if view = nil; step == "length" {
				view = float64(len(value))
			}
		case string:
			switch view = nil; step {
			case "length":
				view = float64(len(value))
			case "words":
				view = plain(strings.Fields(value))
			}
		default:
			return nil
		}
	}
	return view
}

// Known is a deviation that a runtime is known for.
type Known struct {
	Behaviour string   `json:"behaviour"` // its name
	Runtime   string   `json:"runtime"`   // that deviates
	Versions  []string `json:"versions"`  // prefixes of versions: 1.6.
	Why       string   `json:"why"`       // it deviates
	Link      string   `json:"link"`      // upstream's issue or change
}

var knownDeviations = []Known{
	{
		Behaviour: "oom-kill", Runtime: "containerd", Versions: []string{"1.", "2."}, Why: "an exit that is seen before the event of its OOM kill has the reason Error",
		Link: "https://github.com/containerd/containerd/issues/8180",
	},
	{
		Behaviour: "oom-kill-of-a-child", Runtime: "containerd", Versions: []string{"1.", "2."}, Why: "a container is marked OOMKilled for any process of it",
		Link: "https://github.com/kubernetes/kubernetes/issues/104454",
	},
	{
		Behaviour: "oom-kill-of-a-child", Runtime: "cri-o", Versions: []string{"1."}, Why: "a container is marked OOMKilled for any process of it",
		Link: "https://github.com/kubernetes/kubernetes/issues/104454",
	},
}

// known returns the deviation that the runtime is known for, nil if it is not.
func known(behaviour, runtime, version string) *Known {
	version = strings.TrimPrefix(version, "v")
	for _, k := range knownDeviations {
		if k.Behaviour == behaviour && k.Runtime == runtime && slices.ContainsFunc(k.Versions, func(prefix string) bool { return strings.HasPrefix(version, prefix) }) {
			return &k
		}
	}
	return nil
}
