package metrics

import (
	"time"

	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/serve/survey"
)

// survey sends what the last scan of the node found.
func (m samples) survey(s *survey.State, now time.Time) {
	o, t := s.Report.Orphans, s.Report.Terminating
	for _, class := range orphan.Classes() {
		if n, known := o.ByClass[class]; known {
			m.gauge("orphans",
				"Number of pods and pod directories that no source desires, by class, as podctl orphans lists them; absent while it is not known that there are none.",
				float64(n), "class", string(class))
		}
	}
	if o.ByClass != nil {
		m.gauge("orphans_undetermined", "Number of pods of a kubelet of which it is not known whether that desires them; absent without a recent scan.", float64(o.Undetermined))
	}
	for _, layer := range why.StuckLayers() {
		if n, known := t.Stuck[layer]; known {
			m.gauge("terminating_stuck",
				"Number of terminating pods that are stuck, by the layer that they wait for; absent while it is not known that there are none. A preStop hook or process counts from the end of the grace period.",
				float64(n), "layer", string(layer))
		}
	}
	if t.Pods > 0 || t.Unknown == nil {
		oldest := 0.0
		if t.Pods > 0 {
			oldest = seconds(now, t.Since)
		}
		m.gauge("terminating_pods", "Number of terminating pods, as podctl terminating lists them; absent while it is not known that there are none.", float64(t.Pods))
		m.gauge("terminating_oldest_seconds",
			"Age in seconds of the termination that has been in progress for longest; 0 without one, absent while it is not known that there is none.", oldest)
	}
	for scan, unknown := range map[string]error{"orphans": o.Unknown, "terminating": t.Unknown} {
		m.gauge("scan_complete", "1 if the last scan counted all there is, 0 if some of it is not known, or there was no recent scan.", boolValue(unknown == nil), "scan", scan)
	}
	m.counter("scans_total", "Number of scans for orphans and terminating pods.", float64(s.Scans))
	m.counter("scan_errors_total", "Number of scans that failed, and found nothing.", float64(s.Failed))
	ended := 0.0
	if !s.LastEnd.IsZero() {
		ended = float64(s.LastEnd.UnixMilli()) / 1000
	}
	m.gauge("last_scan_timestamp_seconds", "End of the last scan that did not fail, as a Unix time in seconds; 0 before the first.", ended)
	m.gauge("scan_duration_seconds", "Duration in seconds of the last scan that did not fail.", s.Took.Seconds())
}
