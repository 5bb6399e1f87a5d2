// Package live starts real container runtimes for tests, and reports afterwards
// what the tests left in them.
//
//	test ──► Runtime(t, kind) ──► hack/runtime up ──► containerd of its own:
//	           │                                      root, socket, network, images
//	           ├─ Endpoint, Kill, Start, Restart
//	           ├─ Leftovers: mounts, shims, cgroups, leases … before and after
//	           └─ torn down by Main, or at the end of the test with Private
//
//	test ──► StartKubelet(t) ──► a real kubelet beside such a containerd, which runs
//	                             static pods: WriteStatic, RemoveStatic, Kill, Launch
//
//	test ──► Registry(t) ──► an image registry in this process, which can
//	                         fail, require a password, be slow
//
// A runtime is shared by all tests of a test binary, because starting one
// takes a second: TestMain must call Main. A test that breaks its runtime asks
// for a Private one. What a killed test binary left, the next one removes.
//
// Without root or Linux, with PODCTL_LIVE=off and with -short the test is skipped
// with the reason; with PODCTL_LIVE=required it fails instead. PODCTL_LIVE_RUNTIMES names the kinds that Each runs on.
//
// Every function here may block for as long as the runtime takes to start, the
// first time on a machine for as long as it takes to build.
package live
