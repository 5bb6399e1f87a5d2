// Package guest tests podctl on a node as users have it: a guest of hack/vm that it may
// reboot, with the package and its unit, the distribution's containerd as a service, and a
// clock that it may set. hack/vm-test node starts the guest and runs the tests from outside:
//
//	test ──► sh(t, script) ──► hack/vm run ──► podctl, systemctl, reboot … in the guest
//
// Without PODCTL_GUEST, the name of a guest that is up, they are skipped.
package guest
