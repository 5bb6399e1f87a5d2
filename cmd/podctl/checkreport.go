package main

import (
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// What a check finds.
const (
	statusHealthy     = "healthy"
	statusUnhealthy   = "unhealthy"
	statusUnreachable = "unreachable"
)

// What a runtime has of events.
const (
	hintsBroadcast = "broadcast"
	hintsNone      = "none"
	hintsUnknown   = "unknown"
)

// slowestShown is how many of the slowest pods are named.
const slowestShown = 3

// checkReport is what `podctl pleg check -o json` prints. Times are in
// seconds.
type checkReport struct {
	Status string `json:"status"`           // healthy, unhealthy, unreachable
	Reason string `json:"reason,omitempty"` // why it is not healthy

	Runtime          string  `json:"runtime,omitempty"`          // its name and version
	Endpoint         string  `json:"endpoint,omitempty"`         // its socket
	PID              int     `json:"pid,omitempty"`              // its process, where that is known
	Seconds          float64 `json:"seconds,omitempty"`          // how long the check took
	ThresholdSeconds float64 `json:"thresholdSeconds,omitempty"` // --threshold

	Samples   int     `json:"samples"`   // lists of all pods that were answered
	RelistP50 float64 `json:"relistP50"` // of their times
	RelistP95 float64 `json:"relistP95"` // of their times
	RelistMax float64 `json:"relistMax"` // of their times

	Pods       int `json:"pods"`       // in the last list
	Containers int `json:"containers"` // in the last list, sandboxes not counted

	Slowest []checkSlow  `json:"slowest"` // the pods whose status took longest to read
	Waits   []checkWait  `json:"waits"`   // what has had no answer for a second or more, the oldest first
	Errors  []checkError `json:"errors"`  // the pods whose status cannot be read

	Unfinished string `json:"unfinished,omitempty"` // how far the check came, if not to its end

	Hints   string `json:"hints,omitempty"`   // broadcast, none, or unknown if that was not answered
	NoHints string `json:"noHints,omitempty"` // why there are none
}

// checkSlow is a pod whose status took long, and the slowest of the calls that
// it takes.
type checkSlow struct {
	Namespace   string  `json:"namespace"`           // of the pod
	Name        string  `json:"name"`                // of the pod
	UID         string  `json:"uid"`                 // of the pod
	Seconds     float64 `json:"seconds"`             // for all of it
	Call        string  `json:"call"`                // PodSandboxStatus or ContainerStatus
	Container   string  `json:"container,omitempty"` // its name, if the call was about one
	ID          string  `json:"id"`                  // of the container or sandbox
	CallSeconds float64 `json:"callSeconds"`         // for the call
}

// checkWait is a call that has had no answer.
type checkWait struct {
	Call string `json:"call"` // the CRI's name of it
	// of the pod, if it is about one
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`      // of the pod
	UID       string    `json:"uid,omitempty"`       // of the pod
	Container string    `json:"container,omitempty"` // its name, if it is about one
	ID        string    `json:"id,omitempty"`        // of the container or sandbox
	Since     time.Time `json:"since"`               // when it began
	Seconds   float64   `json:"seconds"`             // how long ago that is
}

// checkError is a pod whose status cannot be read.
type checkError struct {
	Namespace string `json:"namespace"` // of the pod
	Name      string `json:"name"`      // of the pod
	UID       string `json:"uid"`       // of the pod
	Message   string `json:"message"`   // the runtime's
}

// newCheckReport is a report with lists that are empty.
func newCheckReport() checkReport {
	return checkReport{Slowest: []checkSlow{}, Waits: []checkWait{}, Errors: []checkError{}}
}

func newCheckWait(w wait, age time.Duration) checkWait {
	return checkWait{
		Call: w.method, Namespace: w.namespace, Name: w.name, UID: w.uid, Container: w.container, ID: w.id,
		Since: w.since, Seconds: age.Seconds(),
	}
}

// text is as wait's.
func (w checkWait) text(full bool) string {
	return wait{method: w.Call, namespace: w.Namespace, name: w.Name, uid: w.UID, container: w.Container, id: w.ID}.text(full)
}

// verdict says whether the runtime is healthy, and if not why. failure is that
// of the last list.
func (r checkReport) verdict(failure error) (status, reason string) {
	threshold := seconds(r.ThresholdSeconds)
	switch {
	case failure != nil:
		return statusUnhealthy, failure.Error()
	case r.Unfinished != "" && len(r.Waits) > 0:
		return statusUnhealthy, fmt.Sprintf("no answer for %s: %s", ageText(seconds(r.Waits[0].Seconds)), r.Waits[0].text(false))
	case r.Unfinished != "":
		return statusUnhealthy, fmt.Sprintf("not done after %s: %s", ageText(seconds(r.Seconds)), r.Unfinished)
	case len(r.Errors) > 0:
		e := r.Errors[0]
		return statusUnhealthy, fmt.Sprintf("status of %s: %s", pod.DisplayName(e.Namespace, e.Name), e.Message)
	case seconds(r.RelistMax) >= threshold:
		return statusUnhealthy, fmt.Sprintf("a relist took %s (threshold %s)", shortTime(seconds(r.RelistMax)), threshold)
	case len(r.Slowest) > 0 && seconds(r.Slowest[0].Seconds) >= threshold:
		s := r.Slowest[0]
		return statusUnhealthy, fmt.Sprintf("the status of %s took %s (threshold %s)", pod.DisplayName(s.Namespace, s.Name), shortTime(seconds(s.Seconds)), threshold)
	}
	return statusHealthy, ""
}
