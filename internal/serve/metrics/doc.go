// Package metrics holds the metrics for Prometheus, under the kubelet's names,
// labels and buckets (pkg/kubelet/metrics/metrics.go), so that existing
// dashboards and alerts work; what the kubelet has no name for begins with
// podctl_, and so does everything that an observer exports.
//
//	worker, node ──┐ observers                       ┌─► counters, histograms ─┐
//	pleg ──────────┼──────────► Metrics ─────────────┤                         ├─► Handler
//	cri ───────────┘                                 └─► State, at each scrape ┘
//	survey.Scanner ─────── the last scan ───────────────────▲
//
// Counters and histograms are updated by observation: Metrics is the observer of
// each inner package, and none of its methods blocks. Gauges are computed at each
// scrape from the State that the owner of the node returns, so that they are
// never older than the scrape; only what a scan of the node has found is as old as
// that. What is not known is absent, not 0. Each Metrics has a registry of its
// own: two nodes in one process do not interfere. It is the only importer of
// Prometheus.
//
// Differs from the kubelet in: gauges of pods are of the moment, not of the last
// housekeeping; pod_worker_duration_seconds does not count the time that an
// update waits for the operation before it, and counts every operation, also those
// that terminate and clean up a pod that is no longer desired;
// pod_start_duration_seconds counts a pod once, when it
// first runs, and not at its first sync, too; pleg_relist_duration_seconds is the
// time of the list, without the statuses of changed pods, which podctl reads in
// parallel; evented_pleg_connection_latency_seconds leaves out events older than
// the subscription. There is no mirror_pods and no pleg_discard_events: podctl has no
// mirror pods, and its PLEG discards no event.
package metrics
