package trace

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestSummaryCountsByMethod(t *testing.T) {
	var s Summary
	for i := 1; i <= 100; i++ {
		e := &Entry{ID: uint64(i), Method: "Version", Took: time.Duration(i) * time.Millisecond}
		if i%10 == 0 {
			e.Code = codes.NotFound
		}
		s.Add(e)
	}
	s.Add(&Entry{Method: "GetContainerEvents", Stream: true, Took: time.Hour, Code: codes.Canceled})
	got := s.Methods()
	want := []MethodSummary{
		{Method: "GetContainerEvents", Count: 1},
		{"Version", 100, 10, 50 * time.Millisecond, 95 * time.Millisecond, 99 * time.Millisecond, 100 * time.Millisecond},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
	slow := s.Slowest()
	if len(slow) != 10 || slow[0].Took != 100*time.Millisecond || slow[9].Took != 91*time.Millisecond {
		t.Errorf("%+v", slow)
	}
}

func TestSummaryKeepsTheNewestDurations(t *testing.T) {
	var s Summary
	for range maxDurations {
		s.Add(&Entry{Method: "Version", Took: time.Millisecond})
	}
	for range maxDurations {
		s.Add(&Entry{Method: "Version", Took: time.Second})
	}
	if got := s.Methods()[0]; got.Count != 2*maxDurations || got.P50 != time.Second {
		t.Errorf("%+v", got)
	}
}
