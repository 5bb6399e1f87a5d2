package podsync

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pod/secret"
)

// Values of Secrets get into messages by expansion: a command that is not
// found, a subPathExpr that leaves its volume. All that podsync hands out,
// events, statuses and errors, has them replaced.

// maskedHost masks the events and statuses that a Syncer hands to the node.
type maskedHost struct {
	Host
	s *Syncer
}

// Event implements Host.
func (h maskedHost) Event(p *v1.Pod, e event.Event) { h.Host.Event(p, h.s.Masked(p, e)) }

// Published implements Host.
func (h maskedHost) Published(p *v1.Pod, s v1.PodStatus) {
	h.Host.Published(p, maskStatus(h.s.maskOf(p.UID), s))
}

// Masked returns the event without values of the pod's Secrets.
func (s *Syncer) Masked(p *v1.Pod, e event.Event) event.Event { return maskEvent(s.maskOf(p.UID), e) }

// Brief returns a text about the pod without values of its Secrets, cut to a limit
// in bytes.
func (s *Syncer) Brief(uid types.UID, text string, limit int) string {
	return s.maskOf(uid).Brief(text, limit)
}

// MaskedText returns a text about the pod without values of its Secrets.
func (s *Syncer) MaskedText(uid types.UID, text string) string { return s.maskOf(uid).Text(text) }

// MaskedUnready returns the unready containers without values of the pod's
// Secrets.
func (s *Syncer) MaskedUnready(uid types.UID, unready []event.Unready) []event.Unready {
	m := s.maskOf(uid)
	for i := range unready {
		unready[i].Probe.Output = m.Text(unready[i].Probe.Output)
	}
	return unready
}

// maskResult masks what an operation on the pod returns.
func (s *Syncer) maskResult(uid types.UID, res *Result, err *error) {
	m := s.maskOf(uid)
	res.Status, *err = maskStatus(m, res.Status), m.Error(*err)
}

// learnSecrets adds the values of the Secrets that the pod's variables come from to its mask.
// What a pod once had stays masked: its containers may have started with it. Others use
// the mask of before meanwhile.
func (s *Syncer) learnSecrets(p *v1.Pod, objects *pod.Objects) {
	values := secret.Values(p, objects)
	if len(values) == 0 {
		return
	}
	before := s.maskOf(p.UID)
	mask := before.With(values, func() []byte { return manifestText(p) })
	if mask == before {
		return
	}
	m := s.remember(p.UID)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mask = mask
}

// manifestText returns what the pod's manifest says openly: names, images.
func manifestText(p *v1.Pod) []byte {
	spec, _ := json.Marshal(&p.Spec) // the types of the API can be marshalled
	return slices.Concat([]byte(p.Namespace+","+p.Name+","), spec)
}

// maskOf returns the pod's mask, nil if it has no secrets.
func (s *Syncer) maskOf(uid types.UID) *secret.Mask {
	s.mu.Lock()
	m := s.pods[uid]
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mask
}

// maskEvent returns the event with its texts masked.
func maskEvent(m *secret.Mask, e event.Event) event.Event {
	e.Message = m.Text(e.Message)
	if e.Waiting != nil {
		w := *e.Waiting
		w.Message = m.Text(w.Message)
		e.Waiting = &w
	}
	if e.Failure != nil {
		f := *e.Failure
		f.Text = m.Text(f.Text)
		e.Failure = &f
	}
	if e.Resize != nil {
		r := *e.Resize
		r.Error = m.Text(r.Error)
		e.Resize = &r
	}
	if e.Probe != nil {
		p := *e.Probe
		p.Output = m.Text(p.Output)
		e.Probe = &p
	}
	return e
}

// maskStatus returns the status with its messages masked.
func maskStatus(m *secret.Mask, s v1.PodStatus) v1.PodStatus {
	if m == nil {
		return s
	}
	s = *s.DeepCopy()
	s.Message = m.Text(s.Message)
	for i := range s.Conditions {
		s.Conditions[i].Message = m.Text(s.Conditions[i].Message)
	}
	for state := range states(&s) {
		if state.Waiting != nil {
			state.Waiting.Message = m.Text(state.Waiting.Message)
		}
		if state.Terminated != nil {
			state.Terminated.Message = m.Text(state.Terminated.Message)
		}
	}
	return s
}
