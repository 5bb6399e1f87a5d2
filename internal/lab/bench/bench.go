package bench

import (
	"context"
	"errors"
)

// Options are what is measured.
type Options struct {
	// Pods are numbers of pods, each up to MaxLimit, or Max.
	Pods   []int
	Rounds int
	// Callers is how many calls of lists and statuses are in flight at once.
	Callers int
	// Room returns an error if the host has no room for more pods than those of Max.
	Room func() error
	// Measured is told of a number of pods once all its rounds are done.
	Measured func(Level)
}

// Max is the number of pods that stands for as many as fit, and MaxLimit the most that are
// tried.
const (
	Max      = 0
	MaxLimit = 500
)

// Level is what was measured with one number of pods.
type Level struct {
	Pods     int // or Max
	Measures []Measure
	// Fitted is the number of pods of each subject with Max, and Full why there were not more.
	Fitted []int
	Full   []error
}

// Measure is a Series for each subject.
type Measure struct {
	Name   string
	Series []Series
}

// What is measured beside the calls of the CRI, which have the names of their methods.
const (
	PodStarted  = "pod started"          // from the request of all pods to the start of its container
	ExitToEvent = "exit to event"        // from the runtime's FinishedAt to its event
	PodRemoved  = "pod stopped, removed" // from the request of all
)

// measures are the names in their order.
var measures = []string{
	PodStarted, "RunPodSandbox", "CreateContainer", "StartContainer",
	"ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus", "ExecSync",
	ExitToEvent, "StopContainer", PodRemoved, "StopPodSandbox", "RemovePodSandbox",
}

// Run measures the subjects in turn until ctx ends, and then removes their pods. Calls that
// make and remove pods are canceled by the end of changes only: what a canceled call made
// is known to nobody.
func Run(ctx, changes context.Context, subjects []*Subject, o Options) (err error) {
	defer func() {
		for _, s := range subjects {
			_, swept := s.Pods.Sweep(changes)
			err = errors.Join(err, s.named(swept))
		}
	}()
	for _, s := range subjects {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.warmUp(changes); err != nil {
			return s.named(err)
		}
	}
	for _, n := range o.Pods {
		level := newLevel(n, len(subjects))
		rounds := o.Rounds
		if n == Max {
			rounds = 1
		}
		for round := range rounds {
			for i := range subjects {
				if round%2 == 1 { // a runtime becomes slower the more pods it has had
					i = len(subjects) - 1 - i
				}
				if err := level.measure(ctx, changes, i, subjects[i], o); err != nil {
					return subjects[i].named(err)
				}
			}
		}
		o.Measured(level)
	}
	return nil
}

func newLevel(pods, subjects int) Level {
	l := Level{Pods: pods, Fitted: make([]int, subjects), Full: make([]error, subjects)}
	for _, name := range measures {
		l.Measures = append(l.Measures, Measure{name, make([]Series, subjects)})
	}
	return l
}

// series returns the series of a measure.
func (l *Level) series(name string, subject int) *Series {
	for _, m := range l.Measures {
		if m.Name == name {
			return &m.Series[subject]
		}
	}
	panic("unknown measure " + name)
}
