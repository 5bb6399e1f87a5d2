package jobs

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes, of a bit each. nil is empty.
type Indexes []byte

func (x Indexes) has(index int) bool { return index/8 < len(x) && x[index/8]&(1<<(index%8)) != 0 }

func (x Indexes) len() (n int) {
	for _, b := range x {
		n += bits.OnesCount8(b)
	}
	return n
}

// with returns the set with one more.
func (x Indexes) with(index int) Indexes {
	x = append(slices.Clone(x), make(Indexes, max(0, index/8+1-len(x)))...)
	x[index/8] |= 1 << (index % 8)
	return x
}

// below returns those less than n.
func (x Indexes) below(n int) Indexes {
	y := slices.Clone(x[:min(len(x), (n+7)/8)])
	if n/8 < len(y) {
		y[n/8] &= 1<<(n%8) - 1
	}
	return y
}

// and returns what is in both sets.
func (x Indexes) and(y Indexes) Indexes {
	both := slices.Clone(x[:min(len(x), len(y))])
	for i := range both {
		both[i] &= y[i]
	}
	return both
}

// maxIndexes bounds the indexes that a success policy may name.
const maxIndexes = 100_000

// parseIndexes reads the indexes of a success policy, which are like 1,3-5.
func parseIndexes(text string) (Indexes, error) {
	x := make(Indexes, maxIndexes/8+1)
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 32)
		last, lastErr := strconv.ParseUint(to, 10, 32)
		if err != nil || lastErr != nil || last > maxIndexes {
			return nil, fmt.Errorf("indexes %q are not like 1,3-5", text)
		}
		for i := first; i <= last; i++ {
			x[i/8] |= 1 << (i % 8)
		}
	}
	return x, nil
}
