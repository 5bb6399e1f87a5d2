// Package device decides which devices of the machine the containers of a pod are
// given. Devices are those that CDI specifications name: VENDOR/CLASS=NAME.
//
//	annotations cdi.k8s.io/… ──► Annotated ─────────────────────┐
//	resources.limits ──► Requests ─► Assign ─► Assignment ──────┴─► CRI CDIDevices
//	/etc/cdi, /var/run/cdi ──► Read ──┘ ▲
//	assignments of other pods ──────────┘
//
// The runtime applies the specification of a device to its container; this package
// only chooses names. An Assignment outlives the process as an annotation of the
// pod's sandbox.
//
// Read reads the directories of the specifications and may block on the disk.
// Everything else is pure.
//
// Differs from the kubelet in (pkg/kubelet/cm/devicemanager): there are no device
// plugins; the devices of an extended resource are those of the CDI kind of the
// same name, and one without such a kind is not admitted.
package device
