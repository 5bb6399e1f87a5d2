package survey

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Source looks at the node.
type Source interface {
	// Look returns what there is; the error is why nothing is known.
	Look(ctx context.Context) (Findings, error)
}

// Scanner scans a node periodically. Make it with NewScanner.
type Scanner struct {
	source Source
	period time.Duration
	now    func() time.Time
	log    *slog.Logger
	// noticed is when each pod was first found terminating. Run owns it.
	noticed map[types.UID]time.Time

	mu    sync.Mutex
	state State
}

// State is what a Scanner has done so far.
type State struct {
	// Report is that of the last scan. It knows nothing if there was none, it
	// failed, or it is so old that scans must be assumed to hang.
	Report Report
	// Scans and Failed count scans, LastEnd is when the last one ended that did not
	// fail, zero before the first; Took is its duration.
	Scans, Failed int
	LastEnd       time.Time
	Took          time.Duration
}

// NewScanner returns a scanner that scans every period. now is the clock.
func NewScanner(source Source, period time.Duration, now func() time.Time, log *slog.Logger) *Scanner {
	return &Scanner{source: source, period: period, now: now, log: log, state: State{Report: unknown(errNoScan)}}
}

// Run scans until ctx ends, first at once.
func (s *Scanner) Run(ctx context.Context) {
	ticker := time.NewTicker(s.period)
	defer ticker.Stop()
	for {
		s.scan(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// errNoScan: no scan has ended recently.
var errNoScan = errors.New("no recent scan")

// stalePeriods is after how many periods without a scan its report is forgotten.
const stalePeriods = 3

// Latest returns the state. It does not block.
func (s *Scanner) Latest() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.state
	if s.now().Sub(latest.LastEnd) > stalePeriods*s.period {
		latest.Report = unknown(errNoScan)
	}
	return latest
}

// scan makes one scan, which may take half of the period.
func (s *Scanner) scan(ctx context.Context) {
	began := s.now()
	ctx, cancel := context.WithTimeout(ctx, s.period/2)
	defer cancel()
	found, err := s.source.Look(ctx)
	ended := s.now()
	report := unknown(err)
	if err == nil {
		s.notice(found.Terminating, ended)
		report = Count(found, ended)
	}
	s.mu.Lock()
	before := s.state
	s.state.Scans++
	s.state.Report = report
	if err == nil {
		s.state.LastEnd, s.state.Took = ended, ended.Sub(began)
	} else {
		s.state.Failed++
	}
	s.mu.Unlock()
	s.tell("orphans", before.Report.Orphans.Unknown, report.Orphans.Unknown)
	s.tell("terminating pods", before.Report.Terminating.Unknown, report.Terminating.Unknown)
}

// notice fills in since when pods are known to terminate, and forgets the others.
func (s *Scanner) notice(pods []Terminated, now time.Time) {
	noticed := map[types.UID]time.Time{}
	for i := range pods {
		p := &pods[i]
		since, known := s.noticed[p.UID]
		if !known {
			since = now
		}
		p.Noticed, noticed[p.UID] = since, since
	}
	s.noticed = noticed
}

// tell logs a count that has become incomplete, or complete again.
func (s *Scanner) tell(what string, before, now error) {
	switch {
	case errors.Is(before, errNoScan) && now == nil:
	case (before == nil || errors.Is(before, errNoScan)) && now != nil:
		s.log.Warn("the number of "+what+" is not known", "err", now)
	case before != nil && now == nil:
		s.log.Info("the number of " + what + " is known again")
	}
}
