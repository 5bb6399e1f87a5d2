package pod

// What the kernel's CPU scheduler is told, by the kubelet's formulas
// (pkg/kubelet/cm/helpers_linux.go).
const (
	// CPUPeriod is what a quota is counted in: 100 ms, in microseconds.
	CPUPeriod = 100000
	// MinCPUShares and MaxCPUShares are the ends of a weight.
	MinCPUShares = 2
	MaxCPUShares = 262144

	sharesPerCPU = 1024
	minQuota     = 1000
	milliPerCPU  = 1000
)

// CPUShares returns the weight of a request in thousandths of a CPU; 1024 is one
// CPU. It is never zero: to the kernel that would mean 1024.
func CPUShares(milli int64) int64 {
	return min(max(milli*sharesPerCPU/milliPerCPU, MinCPUShares), MaxCPUShares)
}

// MilliOfShares returns the request that a weight stands for, rounded up
// (SharesToMilliCPU).
func MilliOfShares(shares int64) int64 {
	return (shares*milliPerCPU + sharesPerCPU - 1) / sharesPerCPU
}

// MilliOfQuota returns the limit that a quota stands for, 0 if there is none
// (QuotaToMilliCPU).
func MilliOfQuota(quota, period int64) int64 {
	if quota <= 0 || period <= 0 {
		return 0
	}
	return quota * milliPerCPU / period
}

// MinCPULimit is the smallest limit that has an effect, in thousandths of a CPU.
const MinCPULimit = minQuota * milliPerCPU / CPUPeriod

// CPUQuota returns the time in microseconds that a limit in thousandths of a CPU
// allows in each CPUPeriod: 1 ms at the least; 0, for 0, is no limit.
func CPUQuota(milli int64) int64 {
	if milli == 0 {
		return 0
	}
	return max(milli*CPUPeriod/milliPerCPU, minQuota)
}
