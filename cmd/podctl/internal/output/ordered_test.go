package output

import (
	"bytes"
	"fmt"
	"testing"
)

func TestOrderedPrintsFirstAtOnceAndOthersInTurn(t *testing.T) {
	var out bytes.Buffer
	o := NewOrdered(&out, 4)
	for i, c := range []struct {
		writes, done int // -1 for none
		want         string
	}{
		{0, -1, "0"}, {1, -1, "0"}, {0, -1, "00"}, {2, 2, "00"}, {1, -1, "00"},
		{0, 0, "000" + "11"}, {1, 1, "000" + "111" + "2"}, {3, -1, "0001112" + "3"}, {3, 3, "000111233"},
	} {
		fmt.Fprint(o.Writer(c.writes), c.writes)
		if c.done >= 0 {
			o.Done(c.done)
		}
		if out.String() != c.want {
			t.Errorf("step %d: %q, want %q", i, out.String(), c.want)
		}
	}
}
