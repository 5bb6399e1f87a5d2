package usage

import "testing"

func TestFormatAmounts(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1.0Ki", 1024: "1.0Ki", 4096: "4.0Ki", 64 << 20: "64Mi", 1 << 30: "1.0Gi", 1000 << 20: "1.0Gi", 999 << 20: "999Mi",
		1<<64 - 1: "16Ei",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := Size(4300000); got != "4.1MiB" {
		t.Errorf("Size is %s", got)
	}
	for n, want := range map[float64]string{0: "0m", 0.0001: "<1m", 0.0124: "12m", 1.5: "1500m"} {
		if got := Cores(n); got != want {
			t.Errorf("%g: %s, want %s", n, got, want)
		}
	}
}
