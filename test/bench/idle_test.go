package main

import (
	"testing"
	"time"
)

func TestParseStatSkipsANameWithBrackets(t *testing.T) {
	got, err := parseStat("42 (a) b) S 1 42 42 0 -1 4194560 500 0 0 0 70 30 0 0 20 0 9 0 1000 1300000000 1234 18446744073709551615", 4096)
	if want := (account{cpu: time.Second, rss: 1234 * 4096}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
