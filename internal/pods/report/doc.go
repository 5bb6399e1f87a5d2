// Package report collects what podctl can tell about a node into one file that can be sent.
//
//	parts ─► Collect: at the same time, each with its own timeout ─► results ─┐
//	values of Secrets ─► secret.Masker ───────────────────────────────────────┼─► Bundle.Write: index.html and a file for
//	summary ──────────────────────────────────────────────────────────────────┘    each output, as a gzipped tar archive
//
// A part that fails or hangs has its error in its place. What others wrote is bounded in size,
// masked (secret.Masker), and escaped where a person reads it: index.html is self-contained, and has
// no scripts. The index and the archive are pure; ReadLog and ReadConfig read the host.
//
// Collect blocks until all parts have ended, at most for Limits.Timeout and a moment more.
package report
