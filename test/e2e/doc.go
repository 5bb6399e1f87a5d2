// Package e2e runs the podctl binary on real, private container runtimes, and
// looks at what it printed, at its exit code, at what containers saw from
// inside, and at what was left behind.
//
//	TestMain builds podctl once ─► place.start(yaml, args…) ─► process
//	                                  │                          │ output, prints, wait, signal
//	each(runtime) ─► at / beside ─────┘ ◄── marks, leftovers ────┘
//	                        │
//	                     proxied: which call podctl is at, and its death there
//
// Tests wait for what they can see, never for a time to pass. Faults are real
// ones: SIGKILL, a full file system, an image that no registry has. On each
// runtime there is one test at a time, so that leftovers are that test's; a
// test that kills its runtime has one of its own.
package e2e
