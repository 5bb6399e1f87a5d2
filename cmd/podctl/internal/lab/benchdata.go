package lab

import (
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/bench"
)

// benchData is the report of `podctl bench`.
type benchData struct {
	Subjects []subjectData `json:"subjects"`       // what was measured
	Results  []resultData  `json:"results"`        // by number of pods, measure and subject
	Fits     []fitData     `json:"fits,omitempty"` // how many pods fitted, with --pods max
}

// subjectData is what was measured.
type subjectData struct {
	Name     string   `json:"name"`       // runtime, version and handler
	Endpoint string   `json:"endpoint"`   // of the runtime
	Runtime  string   `json:"runtime"`    // its name
	Version  string   `json:"version"`    // of the runtime
	Handler  string   `json:"handler"`    // "" is the default
	Image    string   `json:"image"`      // of the containers
	Command  []string `json:"command"`    // of the containers
	Exec     []string `json:"exec"`       // null: the image has no command that is known to end at once
	Polls    bool     `json:"pollsExits"` // the exits of containers are polled every 10ms: there are no events
}

// resultData is one measure of one subject with one number of pods.
type resultData struct {
	Pods      int          `json:"pods"`       // at once
	Max       bool         `json:"max"`        // as many as fit
	Measure   string       `json:"measure"`    // a method of the CRI; "pod started", "exit to event", "pod stopped, removed"
	Subject   string       `json:"subject"`    // name of the subject
	Count     int          `json:"count"`      // of measured times
	Min       float64      `json:"minSeconds"` // the shortest
	P50       float64      `json:"p50Seconds"` // percentiles
	P95       float64      `json:"p95Seconds"`
	P99       float64      `json:"p99Seconds"`
	Longest   float64      `json:"maxSeconds"` // the longest
	PerSecond float64      `json:"perSecond"`  // how many ended in a second
	Ratio     float64      `json:"ratio"`      // of p50 to the first subject's
	Histogram []bucketData `json:"histogram"`  // limits double
}

// bucketData counts the times up to a limit, and longer than half of it.
type bucketData struct {
	Most  float64 `json:"leSeconds"` // the limit
	Count int     `json:"count"`     // of times
}

// fitData is how many pods fitted.
type fitData struct {
	Subject string `json:"subject"` // name of the subject
	Pods    int    `json:"pods"`    // that ran at once
	Why     string `json:"why"`     // there were not more
}

func subjectOf(client *cri.Client, s *bench.Subject) subjectData {
	v := client.Connected()
	return subjectData{
		Name: s.Name, Endpoint: client.Endpoint().Runtime, Runtime: v.Name, Version: v.Version,
		Handler: s.Pods.Handler, Image: s.Pods.Image, Polls: s.PollsExits(),
	}
}

// add adds what was measured with one number of pods.
func (d *benchData) add(l bench.Level, subjects []*bench.Subject) {
	for i, s := range subjects {
		d.Subjects[i].Command, d.Subjects[i].Exec = s.Pods.Command, s.Exec
		if l.Pods == bench.Max {
			d.Fits = append(d.Fits, fitData{s.Name, l.Fitted[i], l.Full[i].Error()})
		}
	}
	for _, m := range l.Measures {
		first := m.Series[0].Percentiles(0.5)[0].Seconds()
		for i, series := range m.Series {
			if len(series.Took) == 0 {
				continue
			}
			p := series.Percentiles(0, 0.5, 0.95, 0.99, 1)
			r := resultData{
				Pods: l.Pods, Max: l.Pods == bench.Max, Measure: m.Name, Subject: subjects[i].Name, Count: len(series.Took),
				Min: p[0].Seconds(), P50: p[1].Seconds(), P95: p[2].Seconds(), P99: p[3].Seconds(), Longest: p[4].Seconds(), PerSecond: series.Rate(),
			}
			if r.Max {
				r.Pods = l.Fitted[i]
			}
			if first > 0 {
				r.Ratio = r.P50 / first
			}
			for _, b := range series.Histogram() {
				r.Histogram = append(r.Histogram, bucketData{b.Most.Seconds(), b.Count})
			}
			d.Results = append(d.Results, r)
		}
	}
}
