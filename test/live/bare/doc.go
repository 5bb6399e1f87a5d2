// Package bare runs a pod with only the CRI calls that it needs: the way for
// the tests of this harness to see a runtime work without podctl.
//
//	RunPodSandbox ─► CreateContainer ─► StartContainer ─► (exit) ─► StopPodSandbox ─► RemovePodSandbox
package bare
