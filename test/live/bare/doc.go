// Package bare runs a pod with only the CRI calls that it needs: the
// physical limit that test/bench measures podctl against, and the way for the
// tests of this harness to see a runtime work without podctl.
//
//	RunPodSandbox ─► CreateContainer ─► StartContainer ─► (exit) ─► StopPodSandbox ─► RemovePodSandbox
//
// The end of a container is seen in the event stream; a runtime without one is
// asked every PollEvery.
package bare
