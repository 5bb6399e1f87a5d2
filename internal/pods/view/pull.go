package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
)

// PullRate is a pull of an image in flight, and what it receives.
type PullRate struct {
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

// slowPull is how long a pull may take before what it receives is measured.
const slowPull = 10 * time.Second

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

// samplePulls adds the pulls of images to the pods that are in that step. A pull that has lasted
// for a while is observed twice, to see what it receives now.
func (r *Reader) samplePulls(ctx context.Context, found []*Pod) {
	if r.sampler == nil {
		r.sampler = &pullSampler{list: r.Pulls, now: r.Now}
	}
	r.sampler.add(ctx, found)
}

func (s *pullSampler) add(ctx context.Context, found []*Pod) {
	waiting := slices.DeleteFunc(slices.Clone(found), func(p *Pod) bool { return p == nil || p.pulledImage() == "" })
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
		image := f.pulledImage()
		if p := pulls.Find(all, image); p != nil {
			f.Pulls = append(f.Pulls, s.pullOf(image, *p))
		}
		if !reported && len(all) > 0 {
			f.Unnamed = s.together(image, all)
		}
	}
}

// pulledImage returns the image for which a pod waits in a ready sandbox, "" if there is none.
func (f *Pod) pulledImage() string {
	if f.Worker.Start.Step == pod.StepPull {
		if c := f.Container(f.Worker.Start.Container); c != nil {
			return c.Image
		}
	}
	c := f.Pending()
	if c == nil || f.ReadySandbox() == nil {
		return ""
	}
	if has, known := f.HasImage[c.Image]; c.State == Waiting && (known && !has || c.WaitsForImage()) {
		return c.Image
	}
	return ""
}

func (s *pullSampler) pullOf(image string, p pulls.Pull) PullRate {
	pull := PullRate{Image: image, Since: p.Since, Bytes: p.Done(), Total: p.Total(), Rate: s.history.Rate(p), Unpacks: p.Transferred()}
	if measured := s.now().Sub(s.since); measured >= sampleTime {
		pull.Measured = measured
	}
	return pull
}

// together returns pulls that cannot be told apart as one: of the oldest's age.
func (s *pullSampler) together(image string, all []pulls.Pull) *PullRate {
	sum := s.pullOf(image, all[0])
	for _, p := range all[1:] {
		one := s.pullOf(image, p)
		sum.Bytes, sum.Rate = sum.Bytes+one.Bytes, sum.Rate+one.Rate
	}
	sum.Number, sum.Total, sum.Unpacks = len(all), 0, false
	return &sum
}

// Pull is the pull in flight that a container waits for.
type Pull struct {
	Image          string    `json:"image"`           // repository@digest, or the digest alone
	Since          time.Time `json:"since"`           // when the pull began
	Bytes          int64     `json:"bytes"`           // that are there; layers that were there before count
	Total          int64     `json:"total,omitempty"` // bytes of all layers, missing if it is not known
	BytesPerSecond float64   `json:"bytesPerSecond"`  // since the layers in flight began
	Progress       string    `json:"progress"`        // the same in words
}

// readPulls adds the pulls in flight of the images that containers wait for. A runtime that
// does not report its pulls has none.
func (r *Reader) readPulls(ctx context.Context, f *Sources) {
	if r.Pulls == nil || !slices.ContainsFunc(f.Containers, func(c Container) bool { return c.mayPull() }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, layerTimeout)
	defer cancel()
	all, err := r.Pulls(ctx)
	if err != nil && !errors.Is(err, cri.ErrUnsupported) {
		f.notRead("pulls", err)
	}
	for i := range f.Containers {
		w := &f.Containers[i]
		if p := pulls.Find(all, w.Image); p != nil && w.mayPull() {
			rate := pulls.Rate(nil, *p)
			w.Pull = &Pull{p.Image, p.Since, p.Done(), p.Total(), rate, images.ProgressText(*p, rate, usage.Bytes[uint64])}
		}
	}
}
