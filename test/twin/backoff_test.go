package twin

import (
	"testing"
	"time"
)

// A run is right that begins at once after the first end, or when the back-off is over. One that a sync
// kills is judged by the end of the run before it.
func TestRunsBeginByBackOff(t *testing.T) {
	type ends struct {
		began, ended float64 // seconds
		killed       bool
	}
	for _, c := range []struct {
		name  string
		runs  []ends
		right bool // the last one
	}{
		{"the first restart is at once", []ends{{0, 5, false}, {5.1, 6, false}}, true},
		{"the first restart is late", []ends{{0, 5, false}, {12, 13, false}}, false},
		{"the second waits ten seconds", []ends{{0, 5, false}, {5.1, 6, false}, {17, 18, false}}, true},
		{"the second is early", []ends{{0, 5, false}, {5.1, 6, false}, {14, 18, false}}, false},
		{"the second is at once", []ends{{0, 5, false}, {5.1, 6, false}, {6.1, 18, false}}, false},
		{"the second is late", []ends{{0, 5, false}, {5.1, 6, false}, {40, 41, false}}, false},
		{"the third waits twenty", []ends{{0, 5, false}, {5.1, 6, false}, {17, 18, false}, {30, 31, false}}, false},
		{"a killed one is back at once, whose first start came late", []ends{{0, 5, true}, {13, 31, true}, {33, 51, true}, {53, 69, true}, {89.3, 100, true}}, true},
		{"a killed one is back at once", []ends{{0, 5, true}, {5.1, 12, true}, {12.1, 25, true}, {25.1, 30, true}}, true},
		{"a killed one waits", []ends{{0, 5, true}, {5.1, 12, true}, {12.1, 20, true}, {32, 40, true}}, true},
		{"a killed one is back though it has to wait", []ends{{0, 5, true}, {5.1, 12, true}, {12.1, 20, true}, {20.1, 40, true}}, false},
		{"a killed one waits without need", []ends{{0, 5, true}, {5.1, 20, true}, {31, 40, true}}, false},
	} {
		at := func(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }
		var runs []*Attempt
		for _, r := range c.runs {
			a := &Attempt{Exit: Exit{At: at(r.ended)}, Steps: []Step{{Method: "CreateContainer", At: at(r.began)}, {Method: "StartContainer", At: at(r.began), End: at(r.began)}}}
			if r.killed {
				a.Steps = append(a.Steps, Step{Method: "StopContainer", At: at(r.ended - 1), End: at(r.ended)})
			}
			runs = append(runs, a)
		}
		if right, _ := byRule(runs, false); right[runs[len(runs)-1]] != c.right {
			t.Errorf("%s: right is %v", c.name, !c.right)
		}
	}
}
