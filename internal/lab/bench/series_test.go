package bench

import (
	"reflect"
	"testing"
	"time"
)

func TestHistogramHasBucketsOfPowersOfTwo(t *testing.T) {
	var s Series
	if got := s.Histogram(); got != nil {
		t.Errorf("of none: %v", got)
	}
	us := time.Microsecond
	s.Add(time.Second, 0, us, us+1, 2*us, 3*us, 9*us)
	want := []Bucket{{us, 2}, {2 * us, 2}, {4 * us, 1}, {8 * us, 0}, {16 * us, 1}}
	if got := s.Histogram(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRateIsOfTheTimeTogether(t *testing.T) {
	var s Series
	if s.Rate() != 0 {
		t.Errorf("of none: %v", s.Rate())
	}
	s.Add(time.Second, time.Second, time.Second)
	s.Add(time.Second, time.Second, time.Second)
	if s.Rate() != 2 {
		t.Errorf("four calls in two seconds: %v in one", s.Rate())
	}
}
