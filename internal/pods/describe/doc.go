// Package describe collects what every layer knows about one pod, and prints it as a page.
//
//	podctl process, kubelet ─► object ─┐
//	runtime: status, details ──────────┤
//	cgroups, kernel log ───────────────┼─► Collect ─► Facts ─► Page
//	logs, events ──────────────────────┤                 └───► JSON, YAML
//	diagnose: what termination waits for ─┘
//
// Collect reads each layer within a time limit; a layer that cannot be read is listed in
// Facts.Unread. Page is pure, and so is causeOf, which returns why a container ended, with
// what was observed and how certain the cause is.
//
// Values of Secrets are never read: an environment variable shows where its value
// comes from. What a container wrote is passed on as it is; the printer escapes it.
//
// The kubelet has no counterpart: kubectl describe shows the API server's view.
package describe
