package cgroup

// Facts are what rendering needs to know about the machine's cgroups.
type Facts struct {
	// Unified tells that the only hierarchy is that of v2.
	Unified bool
	// SwapController tells that swap can be limited.
	SwapController bool
	// HugePageSizes are the kernel's page sizes as runc names them ("2MB").
	HugePageSizes []string
}
