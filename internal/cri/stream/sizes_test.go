package stream

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/remotecommand"
)

func TestOnlyLatestSizeIsSent(t *testing.T) {
	s := NewSizes()
	s.Set(80, 24)
	s.Set(0, 24)
	s.Set(132, 43)
	if got := s.Next(); got == nil || *got != (remotecommand.TerminalSize{Width: 132, Height: 43}) {
		t.Errorf("%+v", got)
	}
	s.Set(1<<20, 24)
	s.Close()
	s.Close()
	s.Set(80, 24)
	if got := s.Next(); got != nil {
		t.Errorf("after Close: %+v", got)
	}
}

func TestRedrawResizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSizes()
		s.Redraw()
		s.Set(80, 24)
		begin := time.Now()
		for _, want := range []remotecommand.TerminalSize{{Width: 79, Height: 24}, {Width: 80, Height: 24}} {
			if got := s.Next(); got == nil || *got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		if between := time.Since(begin); between != redrawDelay {
			t.Errorf("%s between them", between)
		}
	})
}
