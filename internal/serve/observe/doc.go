// Package observe watches a runtime on which others run pods: it serves metrics and health, and records events. It
// starts no pod and takes no lock.
//
//	runtime ─► plegstat.Session ─► watch ─► journal
//	               │        survey.Scanner (orphans, stuck terminations)
//	               └────────────┴─► metrics, readiness at Listen
//
// A runtime that does not answer is tried again where metrics are served: to restart the observer does not repair it.
// The kubelet has no counterpart.
package observe
