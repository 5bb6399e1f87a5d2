package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/serve/survey"
)

// surveyDescs describe what the periodic scan of a node finds.
type surveyDescs struct {
	orphans, undetermined                     *prometheus.Desc
	terminating, stuck, oldest                *prometheus.Desc
	complete, scans, failed, lastEnd, lasting *prometheus.Desc
}

func newSurveyDescs() surveyDescs {
	return surveyDescs{
		orphans: desc(own, "orphans",
			"Number of pods and pod directories that no source desires, by class, as podctl orphans lists them; absent while it is not known that there are none.", "class"),
		undetermined: desc(own, "orphans_undetermined", "Number of pods of a kubelet of which it is not known whether that desires them; absent without a recent scan."),
		terminating:  desc(own, "terminating_pods", "Number of terminating pods, as podctl terminating lists them; absent while it is not known that there are none."),
		stuck: desc(own, "terminating_stuck",
			"Number of terminating pods that are stuck, by the layer that they wait for; absent while it is not known that there are none. A preStop hook or process counts from the end of the grace period.", "layer"),
		oldest: desc(own, "terminating_oldest_seconds",
			"Age in seconds of the termination that has been in progress for longest; 0 without one, absent while it is not known that there is none."),
		complete: desc(own, "scan_complete", "1 if the last scan counted all there is, 0 if some of it is not known, or there was no recent scan.", "scan"),
		scans:    desc(own, "scans_total", "Number of scans for orphans and terminating pods."),
		failed:   desc(own, "scan_errors_total", "Number of scans that failed, and found nothing."),
		lastEnd:  desc(own, "last_scan_timestamp_seconds", "End of the last scan that did not fail, as a Unix time in seconds; 0 before the first."),
		lasting:  desc(own, "scan_duration_seconds", "Duration in seconds of the last scan that did not fail."),
	}
}

func (d surveyDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.orphans, d.undetermined, d.terminating, d.stuck, d.oldest, d.complete, d.scans, d.failed, d.lastEnd, d.lasting}
}

// collect sends what the last scan found; nothing for a process that does not
// scan.
func (d surveyDescs) collect(s *survey.State, now time.Time, to chan<- prometheus.Metric) {
	if s == nil {
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		send(d, prometheus.GaugeValue, value, labels...)
	}
	o, t := s.Report.Orphans, s.Report.Terminating
	for _, class := range orphan.Classes() {
		if n, known := o.ByClass[class]; known {
			gauge(d.orphans, float64(n), string(class))
		}
	}
	if o.ByClass != nil {
		gauge(d.undetermined, float64(o.Undetermined))
	}
	for _, layer := range why.StuckLayers() {
		if n, known := t.Stuck[layer]; known {
			gauge(d.stuck, float64(n), string(layer))
		}
	}
	switch {
	case t.Pods > 0:
		gauge(d.terminating, float64(t.Pods))
		gauge(d.oldest, seconds(now, t.Since))
	case t.Unknown == nil:
		gauge(d.terminating, 0)
		gauge(d.oldest, 0)
	}
	gauge(d.complete, boolValue(o.Unknown == nil), "orphans")
	gauge(d.complete, boolValue(t.Unknown == nil), "terminating")
	send(d.scans, prometheus.CounterValue, float64(s.Scans))
	send(d.failed, prometheus.CounterValue, float64(s.Failed))
	ended := 0.0
	if !s.LastEnd.IsZero() {
		ended = float64(s.LastEnd.UnixMilli()) / 1000
	}
	gauge(d.lastEnd, ended)
	gauge(d.lasting, s.Took.Seconds())
}
