package starting

import (
	"context"
	"errors"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
)

// Pull is a pull of an image in flight.
type Pull struct {
	Image        string
	Since        time.Time
	Bytes, Total int64   // Total is 0 if it is not known
	Rate         float64 // bytes per second, lately
	Unpacks      bool    // all is received, and is unpacked
	Number       int     // of pulls, if they are several that cannot be told apart
	// Measured is over how long Rate was measured, 0 if that is since the layers' start.
	Measured time.Duration
}

// sampleTime is the time between two observations of a pull, of which a rate is made: the
// runtime counts by the megabyte.
const sampleTime = 3 * time.Second

// pullSampler observes the pulls of a runtime.
type pullSampler struct {
	list    func(ctx context.Context) ([]pulls.Pull, error)
	now     func() time.Time
	history pulls.History
	// since is when the observations began that have had a pull in each.
	since time.Time
}

// observe returns the pulls in flight, nil if they are not known, and whether the runtime
// reports which there are.
func (s *pullSampler) observe(ctx context.Context) (all []pulls.Pull, reported bool) {
	if s.list == nil {
		return nil, false
	}
	all, err := s.list(ctx)
	if err != nil && !errors.Is(err, cri.ErrUnsupported) {
		return nil, false
	}
	s.history.Add(all)
	switch {
	case len(all) == 0:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = s.now()
	}
	if err == nil && all == nil {
		all = []pulls.Pull{}
	}
	return all, err == nil
}

// addPulls adds the pulls of images to the pods that are in that step. A pull that has lasted
// for a while is observed twice, to see what it receives now.
func (s *pullSampler) addPulls(ctx context.Context, found []*Facts) {
	var waiting []*Facts
	for _, f := range found {
		if f != nil && f.position().step == StepPull {
			waiting = append(waiting, f)
		}
	}
	if len(waiting) == 0 {
		return
	}
	all, reported := s.observe(ctx)
	if len(all) > 0 && s.now().Sub(s.since) < sampleTime && s.now().Sub(all[0].Since) > slowPull {
		select {
		case <-time.After(sampleTime):
			all, reported = s.observe(ctx)
		case <-ctx.Done():
		}
	}
	for _, f := range waiting {
		f.PullsListed, f.NoPull = reported, all != nil && len(all) == 0
		image := f.position().image()
		if p := pulls.Find(all, image); p != nil {
			f.Pulls = append(f.Pulls, s.pullOf(image, *p))
		}
		if !reported && len(all) > 0 {
			f.Unnamed = s.together(image, all)
		}
	}
}

func (s *pullSampler) pullOf(image string, p pulls.Pull) Pull {
	pull := Pull{Image: image, Since: p.Since, Bytes: p.Done(), Total: p.Total(), Rate: s.history.Rate(p), Unpacks: p.Transferred()}
	if measured := s.now().Sub(s.since); measured >= sampleTime {
		pull.Measured = measured
	}
	return pull
}

// together returns pulls that cannot be told apart as one: of the oldest's age.
func (s *pullSampler) together(image string, all []pulls.Pull) *Pull {
	sum := s.pullOf(image, all[0])
	for _, p := range all[1:] {
		one := s.pullOf(image, p)
		sum.Bytes, sum.Rate = sum.Bytes+one.Bytes, sum.Rate+one.Rate
	}
	sum.Number, sum.Total, sum.Unpacks = len(all), 0, false
	return &sum
}

// image returns the image that a pod in the step pull waits for, "" if that is not known.
func (p position) image() string {
	if p.container == nil {
		return ""
	}
	return p.container.Image
}
