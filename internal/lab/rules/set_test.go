package rules

import (
	"fmt"
	"strings"
	"testing"
)

// shown is a set as NUMBER:MESSAGE:SEEN/FIRED words.
func shown(s *Set) string {
	var all []string
	for _, r := range s.Rules {
		all = append(all, fmt.Sprintf("%d:%s:%d/%d", r.Number, r.Message, r.Matched, r.Fired))
	}
	return strings.Join(all, " ")
}

// some returns rules that fire for the second call, with names.
func some(t *testing.T, names string) (all []Rule) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		all = append(all, parse(t, "method=Version delay=1s nth=2 message="+name))
	}
	return all
}

func TestChange(t *testing.T) {
	for name, c := range map[string]struct {
		change Change
		want   string // after one more call
	}{
		"nothing":         {Change{}, "1:a:2/1 2:b:2/1 3:c:2/1"},
		"add":             {Change{Add: some(t, "d")}, "1:a:2/1 2:b:2/1 3:c:2/1 4:d:1/0"},
		"remove":          {Change{Remove: []int{2}}, "1:a:2/1 3:c:2/1"},
		"remove and add":  {Change{Remove: []int{1, 3}, Add: some(t, "d e")}, "2:b:2/1 4:d:1/0 5:e:1/0"},
		"remove all":      {Change{Remove: []int{1, 2, 3}}, ""},
		"replace":         {Change{Remove: []int{1, 2, 3}, Add: some(t, "c d a")}, "3:c:2/1 4:d:1/0 1:a:2/1"},
		"once more":       {Change{Add: some(t, "a")}, "1:a:2/1 2:b:2/1 3:c:2/1 4:a:1/0"},
		"twice for once":  {Change{Remove: []int{1, 2, 3}, Add: some(t, "a a")}, "1:a:2/1 4:a:1/0"},
		"an unknown one":  {Change{Remove: []int{1, 7}, Add: some(t, "d")}, "1:a:2/1 2:b:2/1 3:c:2/1"},
		"more than bound": {Change{Remove: []int{1}, Add: make([]Rule, maxRules-1)}, "1:a:2/1 2:b:2/1 3:c:2/1"},
	} {
		s := NewSet(some(t, "a b c"))
		s.Decide(Call{Method: "Version"})
		err := s.Apply(c.change)
		if refused := strings.Contains(name, "unknown") || strings.Contains(name, "bound"); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
		s.Decide(Call{Method: "Version"})
		if got := shown(s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNumberIsNeverUsedAgain(t *testing.T) {
	s := NewSet(some(t, "a b"))
	for _, c := range []Change{{Remove: []int{2}}, {Add: some(t, "b")}} {
		if err := s.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	if got := shown(s); got != "1:a:0/0 3:b:0/0" {
		t.Error(got)
	}
}

// A file that changes replaces its own rules only, at their place.
func TestFollow(t *testing.T) {
	s := NewSet(some(t, "flag"))
	follow := func(all []Rule, want bool) func() error {
		return func() error {
			err := s.Follow(all)
			if (err == nil) != want {
				t.Errorf("%d rules were followed: %v", len(all), err)
			}
			return err
		}
	}
	for _, step := range []struct {
		do   func() error
		want string // after one more call
	}{
		{follow(some(t, "x y"), true), "1:flag:1/0 2:x:1/0 3:y:1/0"},
		{func() error { return s.Apply(Change{Add: some(t, "added")}) }, "1:flag:2/1 2:x:2/1 3:y:2/1 4:added:1/0"},
		{follow(some(t, "z y"), true), "1:flag:3/1 5:z:1/0 3:y:3/1 4:added:2/1"},
		{follow(make([]Rule, maxRules), false), "1:flag:4/1 5:z:2/1 3:y:4/1 4:added:3/1"},
		// One that is removed comes back with the file.
		{func() error { return s.Apply(Change{Remove: []int{5}}) }, "1:flag:5/1 3:y:5/1 4:added:4/1"},
		{follow(some(t, "z y"), true), "1:flag:6/1 6:z:1/0 3:y:6/1 4:added:5/1"},
	} {
		err := step.do()
		s.Decide(Call{Method: "Version"})
		if got := shown(s); got != step.want {
			t.Fatalf("%s, want %s; %v", got, step.want, err)
		}
	}
}

// A firing stays what it is when its rule is removed.
func TestFiringOutlivesItsRule(t *testing.T) {
	s := NewSet([]Rule{parse(t, "method=Version error=Internal")})
	f := s.Decide(Call{Method: "Version"})[0]
	if err := s.Apply(Change{Remove: []int{1}, Add: some(t, "a")}); err != nil {
		t.Fatal(err)
	}
	if f.Number != 1 || f.Count != 1 || f.Text != "method=Version error=Internal" {
		t.Errorf("%+v", f)
	}
}
