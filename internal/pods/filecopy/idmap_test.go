package filecopy

import (
	"slices"
	"testing"
)

func TestReadRanges(t *testing.T) {
	got, err := readRanges([]byte("         0  838860800      65536\n     65536  1 2\n"))
	if want := []Range{{0, 838860800, 65536}, {65536, 1, 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := readRanges([]byte("0 x 1\n")); err == nil {
		t.Error("a map that cannot be read is no error")
	}
}
