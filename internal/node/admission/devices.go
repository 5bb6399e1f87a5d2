package admission

import (
	"fmt"
	"strings"
)

// NoDevices returns the error of a pod that asks for devices which the runtime does
// not give. Unlike a kubelet's, its containers do not start without them.
func NoDevices(why string) *Error {
	return &Error{
		Reason: "CDINotSupported", Message: why,
		hint: "containerd gives devices from 2.0 on, and from 1.7.2 on with enable_cdi = true; CRI-O from 1.28 on",
	}
}

// TooFewDevices returns the error of a pod that asks for more devices of a kind than
// this machine has, in the words of the kubelet's device manager
// (pkg/kubelet/cm/admission/errors.go).
func TooFewDevices(shortage error, directories []string) *Error {
	return &Error{
		Reason: unexpected, Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", shortage),
		hint: "devices are those of the CDI specifications in " + strings.Join(directories, ", "),
	}
}
