package survey

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
)

// lookout is a source whose answers a test sets.
type lookout func(ctx context.Context) (Findings, error)

func (l lookout) Look(ctx context.Context) (Findings, error) { return l(ctx) }

// run runs a scanner every ten seconds until the returned function is called.
func run(source Source, log *bytes.Buffer) (s *Scanner, stop func()) {
	s = NewScanner(source, 10*time.Second, time.Now, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(context.Background())
	go s.Run(ctx)
	return s, cancel
}

func TestScansRepeatAndKeepWhenATerminationWasNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s, stop := run(lookout(func(context.Context) (Findings, error) {
			return Findings{Terminating: []Terminated{{Pod: stoppedShim(time.Time{})}}}, nil
		}), new(bytes.Buffer))
		defer stop()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		latest := s.Latest()
		if latest.Scans != 3 || latest.Failed != 0 || !latest.LastEnd.Equal(began.Add(20*time.Second)) || !latest.Report.Terminating.Since.Equal(began) {
			t.Errorf("%+v", latest)
		}
	})
}

func TestFailedScanKnowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Bool
		failure := errors.New("no runtime")
		log := new(bytes.Buffer)
		s, stop := run(lookout(func(context.Context) (Findings, error) {
			if failed.Load() {
				return Findings{}, failure
			}
			return Findings{}, nil
		}), log)
		defer stop()
		synctest.Wait()
		if latest := s.Latest(); latest.Report.Orphans.Unknown != nil || log.Len() > 0 {
			t.Errorf("%+v, logged %q", latest, log)
		}
		failed.Store(true)
		time.Sleep(21 * time.Second)
		synctest.Wait()
		latest := s.Latest()
		if latest.Report.Orphans.ByClass != nil || !errors.Is(latest.Report.Terminating.Unknown, failure) || latest.Failed != 2 {
			t.Errorf("%+v", latest)
		}
		failed.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.Latest().Report.Orphans.Unknown != nil {
			t.Errorf("%+v", s.Latest())
		}
		if warned, calmed := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "level=INFO"); warned != 2 || calmed != 2 {
			t.Errorf("%d warnings and %d notes for two counts that became unknown once:\n%s", warned, calmed, log)
		}
	})
}

func TestHangingScanEndsAndItsReportIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		s, stop := run(lookout(func(ctx context.Context) (Findings, error) {
			if hang.Load() {
				<-ctx.Done()
			}
			return Findings{Findings: orphan.Findings{Orphans: []orphan.Orphan{{Class: orphan.Abandoned}}}}, ctx.Err()
		}), new(bytes.Buffer))
		synctest.Wait()
		if s.Latest().Report.Orphans.ByClass[orphan.Abandoned] != 1 {
			t.Errorf("%+v", s.Latest())
		}
		hang.Store(true)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if latest := s.Latest(); latest.Failed != 1 || latest.Report.Orphans.ByClass != nil {
			t.Errorf("%+v", latest)
		}
		stop()
		synctest.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		s, stop := run(lookout(func(context.Context) (Findings, error) { return Findings{}, nil }), new(bytes.Buffer))
		synctest.Wait()
		stop()
		synctest.Wait()
		time.Sleep(31 * time.Second)
		if latest := s.Latest(); latest.Report.Orphans.ByClass != nil || !errors.Is(latest.Report.Orphans.Unknown, errNoScan) {
			t.Errorf("a report without a scan for three periods: %+v", latest)
		}
	})
}

// answers are the runtime's answers about containers, and how many it gave.
type answers struct {
	view.Runtime
	pid, given int
	err        error
}

func (a *answers) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	a.given++
	return cri.ContainerProcess{PID: a.pid}, a.err
}

func TestContainerIsAskedForOnce(t *testing.T) {
	rt := &answers{pid: 7}
	p := newProcesses(rt)
	scan := func(ids ...string) {
		p.begin()
		for _, id := range ids {
			if got, err := p.ContainerProcess(t.Context(), id); got.PID != rt.pid || !errors.Is(err, rt.err) {
				t.Errorf("%s: %+v %v", id, got, err)
			}
		}
		p.end()
	}
	scan("a", "b")
	scan("a", "b")
	if rt.given != 2 {
		t.Errorf("%d calls for 2 containers in 2 scans", rt.given)
	}
	rt.pid = 0 // it has exited: a scan that asks again is given the runtime's answer
	p.begin()
	if first, _ := p.ContainerProcess(t.Context(), "a"); first.PID != 7 {
		t.Errorf("%+v", first)
	}
	if second, _ := p.ContainerProcess(t.Context(), "a"); second.PID != 0 || rt.given != 3 {
		t.Errorf("%+v after %d calls", second, rt.given)
	}
	p.end()
	if len(p.known) != 0 {
		t.Errorf("containers that are gone are remembered: %v", p.known)
	}
}
