package plegstat

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// Tee is several observers of one PLEG.
type Tee []pleg.Observer

var _ pleg.Observer = Tee(nil)

// Relisted implements pleg.Observer.
func (t Tee) Relisted(took, interval time.Duration, err error) {
	for _, o := range t {
		o.Relisted(took, interval, err)
	}
}

// PodRelisted implements pleg.Observer.
func (t Tee) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	for _, o := range t {
		o.PodRelisted(source, took, changed, err)
	}
}

// StatusRead implements pleg.Observer.
func (t Tee) StatusRead(took time.Duration, err error) {
	for _, o := range t {
		o.StatusRead(took, err)
	}
}

// Hinted implements pleg.Observer.
func (t Tee) Hinted(latency time.Duration, backlog bool) {
	for _, o := range t {
		o.Hinted(latency, backlog)
	}
}

// HintStream implements pleg.Observer.
func (t Tee) HintStream(err error) {
	for _, o := range t {
		o.HintStream(err)
	}
}
