package look

import (
	"slices"
	"testing"

	"github.com/podctl/podctl/internal/pod"
)

func TestWideTableShowsPSI(t *testing.T) {
	v2 := topItem{PSI: pod.PSI{CPU: &pod.Stall{Some: 7.35, Full: 0.2}, IO: &pod.Stall{Some: 31.2, Full: 29.9}}, Memory: topMemory{Swap: new(uint64(3 << 20))}}
	v1 := topItem{PSI: pod.PSI{Unknown: "cgroup v1 has no PSI"}}
	l := topList(true, []topItem{v2, v1})
	if want := []string{"3.0Mi", "7%", "<1%", "-", "-", "31%", "30%", "-", "-", ""}; !slices.Equal(l.Items[0].Wide, want) {
		t.Errorf("%q, want %q", l.Items[0].Wide, want)
	}
	if len(l.Wide) != len(l.Items[0].Wide) || slices.Contains(l.Header, "SWAP") {
		t.Errorf("headers %q and %q", l.Header, l.Wide)
	}
	if got, want := psiNote([]topItem{v1, v2, v1}), "PSI is not known: cgroup v1 has no PSI\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := psiNote([]topItem{v2}); got != "" {
		t.Errorf("%q of known PSI", got)
	}
	items := []topItem{v1, v2}
	by := slices.IndexFunc(topColumns, func(c topColumn) bool { return c.key == "io-full" })
	if sortTop(items, topColumns[by]); items[0].PSI.IO == nil {
		t.Error("what is not known is sorted first")
	}
}
