package output

import "fmt"

// Size is an amount of bytes in three digits and a binary unit: 4.1MiB.
func Size(n uint64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/(1<<10), unit+1
	}
	if value < 10 {
		return fmt.Sprintf("%.1f%ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f%ciB", value, units[unit])
}
