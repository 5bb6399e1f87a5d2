package cri

import (
	"slices"
	"testing"
	"time"
)

// The clock was set back by an hour after the first run of a.
func TestTheLastAttemptIsTheNewestWhateverTheClockSaid(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(100000, 0).Add(time.Duration(minutes) * time.Minute) }
	all := []made{
		{"a", 0, at(60), "a0"}, {"b", 0, at(61), "b0"}, {"a", 1, at(2), "a1"}, {"a", 2, at(3), "a2"}, {"c", 7, at(4), "c7"},
	}
	newestFirst(all, func(m made) made { return m })
	var got []string
	for _, m := range all {
		got = append(got, m.id)
	}
	if want := []string{"b0", "a2", "c7", "a1", "a0"}; !slices.Equal(got, want) {
		t.Errorf("newest first: %q, want %q", got, want)
	}
}
