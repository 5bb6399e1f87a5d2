package plegstat

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// Observers is several observers of one PLEG.
type Observers []pleg.Observer

var _ pleg.Observer = Observers(nil)

// Relisted implements pleg.Observer.
func (t Observers) Relisted(took, interval time.Duration, err error) {
	for _, o := range t {
		o.Relisted(took, interval, err)
	}
}

// PodRelisted implements pleg.Observer.
func (t Observers) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	for _, o := range t {
		o.PodRelisted(source, took, changed, err)
	}
}

// StatusRead implements pleg.Observer.
func (t Observers) StatusRead(took time.Duration, err error) {
	for _, o := range t {
		o.StatusRead(took, err)
	}
}

// Hinted implements pleg.Observer.
func (t Observers) Hinted(latency time.Duration, backlog bool) {
	for _, o := range t {
		o.Hinted(latency, backlog)
	}
}

// HintStream implements pleg.Observer.
func (t Observers) HintStream(err error) {
	for _, o := range t {
		o.HintStream(err)
	}
}
