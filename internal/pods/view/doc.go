// Package view reads all that is known of a pod, whatever created it.
//
//	runtime: listing, status, details ──┐
//	podctl process, kubelet ────────────┤
//	/proc, cgroups, kernel's log ───────┼─► Reader ──► Pod ──► package why ──► commands
//	mount tables, pod directories ──────┤               └────► JSON, YAML
//	logs, events, pulls ────────────────┘
//
// Reader reads each layer within a bound of time and size; a layer that cannot be read is listed in
// Pod.Unread. What is not seen is unknown, not gone: a PID that the runtime reports is looked up
// only if the runtime shares podctl's PID namespace. Package why says what the facts mean, and is
// pure.
//
// Values of Secrets are never read: an environment variable shows where its value comes from. What
// a container wrote is passed on as it is; the printer escapes it.
//
// The kubelet has no counterpart: kubectl describe shows the API server's view.
package view
