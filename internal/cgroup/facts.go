package cgroup

// Facts are what rendering needs to know about the machine's cgroups.
type Facts struct {
	// Unified reports whether the only hierarchy is that of v2.
	Unified bool
	// SwapController reports whether swap can be limited.
	SwapController bool
	// HugePageSizes are the kernel's page sizes as runc names them ("2MB").
	HugePageSizes []string
}
