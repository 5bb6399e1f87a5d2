// Package describe puts what every layer knows of one pod on one page.
//
//	podctl process, kubelet ─► object ─┐
//	runtime: status, details ──────────┤
//	cgroups, kernel log ───────────────┼─► Collect ─► Facts ─► Page
//	logs, events ──────────────────────┤                 └───► JSON, YAML
//	diagnose: what termination waits for ─┘
//
// Collect is the shell: it reads each layer within a bound of its own, and a layer
// that cannot be read is an entry of Facts.Unread and nothing else. Page is pure. So
// is causeOf, which says why a container ended: what was observed, and how sure that
// makes the cause.
//
// Values of Secrets are never read: an environment variable shows where its value
// comes from. What a container wrote is passed on as it is; the printer escapes it.
//
// The kubelet has no counterpart: kubectl describe shows the API server's view.
package describe
