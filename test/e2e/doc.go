// Package e2e runs the podctl binary on real, private container runtimes, and
// looks at what it printed, at its exit code, at what containers saw from
// inside, and at what was left behind.
//
//	TestMain builds podctl once ─► start(t, rt, args…) ─► process
//	                                     │ out, errw, wait, interrupt, kill
//	          live.Each(runtime) ────────┘
//
// Tests wait for what they can see, never for a time to pass. Faults are real
// ones: SIGKILL, a full file system, an image that no registry has.
package e2e
