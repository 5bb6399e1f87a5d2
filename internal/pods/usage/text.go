package usage

import "fmt"

// Bytes returns an amount of bytes in the units of Kubernetes, in about three digits:
// 512, 4.0Ki, 31Mi.
func Bytes[N uint64 | float64](n N) string {
	const units = "KMGTPE"
	amount, unit := float64(n), ""
	for i := 0; amount >= 1000 && i < len(units); i++ {
		amount, unit = amount/1024, units[i:i+1]+"i"
	}
	if unit == "" || amount >= 9.95 {
		return fmt.Sprintf("%.0f%s", amount, unit)
	}
	return fmt.Sprintf("%.1f%s", amount, unit)
}

// Cores returns an amount of CPU in millicores, as kubectl shows it: 12m, 1500m.
func Cores(n float64) string {
	if n > 0 && n < 0.0005 {
		return "<1m"
	}
	return fmt.Sprintf("%.0fm", 1000*n)
}
