// Package admission decides whether a pod may run on this node: the checks of
// the kubelet's admission handlers, in the kubelet's order, and those for what
// the runtime cannot do.
//
//	pod ──► Policy.Check ──► Fit ──► admitted
//	        sysctls, OS,     resources, host ports,
//	        groups,          critical pods: a plan
//	        AppArmor,        of victims
//	        runtime
//	           └── *Error ──────┴──► Failed, with the kubelet's reason
//
// All checks are pure: the caller brings what the runtime can do (Runtime) and
// the pods that are active. Only ReadPolicy reads the machine. Nothing here
// blocks, and all of it may be called from several goroutines.
//
// Differs from the kubelet in: a pod that asks for an image volume or a stop
// signal that the runtime would ignore is rejected; there are no RuntimeClass
// objects, so a class is a runtime handler by its name or by a mapping; and the
// node's labels are its operating system only.
package admission
