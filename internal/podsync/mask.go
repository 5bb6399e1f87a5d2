package podsync

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/pod"
)

// Values of Secrets get into messages by expansion: a command that is not
// found, a subPathExpr that leaves its volume. All that podsync hands out,
// events, statuses and errors, has them replaced.

const (
	// maskText stands for the value of a Secret.
	maskText = "***"
	// maskShortest is the length in bytes below which a value is not replaced: it
	// would be found in any text.
	maskShortest = 3
)

// maskedHost masks what a Syncer tells the node.
type maskedHost struct {
	Host
	s *Syncer
}

// Event implements Host.
func (h maskedHost) Event(p *v1.Pod, e event.Event) { h.Host.Event(p, h.s.Masked(p, e)) }

// Published implements Host.
func (h maskedHost) Published(p *v1.Pod, s v1.PodStatus) {
	h.Host.Published(p, h.s.maskOf(p.UID).status(s))
}

// Masked returns the event without values of the pod's Secrets.
func (s *Syncer) Masked(p *v1.Pod, e event.Event) event.Event { return s.maskOf(p.UID).event(e) }

// MaskedUnready returns the unready containers without values of the pod's
// Secrets.
func (s *Syncer) MaskedUnready(uid types.UID, unready []event.Unready) []event.Unready {
	if m := s.maskOf(uid); m != nil {
		for i := range unready {
			unready[i].Probe.Output = m.text(unready[i].Probe.Output)
		}
	}
	return unready
}

// leave masks what an operation on the pod returns.
func (s *Syncer) leave(uid types.UID, res *Result, err *error) {
	m := s.maskOf(uid)
	res.Status, *err = m.status(res.Status), m.error(*err)
}

// learn remembers the values of the Secrets that the pod's variables come
// from. What a pod once had stays masked: its containers may have started with
// it.
func (s *Syncer) learn(p *v1.Pod, objects *pod.Objects) {
	values := secretValues(p, objects)
	if len(values) == 0 {
		return
	}
	m := s.remember(p.UID)
	m.mu.Lock()
	defer m.mu.Unlock()
	before, spec := len(m.secrets), ""
	for _, v := range values {
		if m.secrets[v] || len(v) < maskShortest {
			continue
		}
		if spec == "" {
			spec = manifestText(p)
		}
		if strings.Contains(spec, v) {
			continue // the manifest says it openly: a name, or an image
		}
		if m.secrets == nil {
			m.secrets = map[string]bool{}
		}
		m.secrets[v] = true
	}
	if len(m.secrets) != before {
		m.mask = newMask(m.secrets)
	}
}

// secretValues are the values of the Secret keys that the pod's variables
// refer to.
func secretValues(p *v1.Pod, objects *pod.Objects) []string {
	var values []string
	for c := range pod.Containers(p) {
		for _, from := range c.EnvFrom {
			if from.SecretRef == nil {
				continue
			}
			if s := objects.Secret(p.Namespace, from.SecretRef.Name); s != nil {
				for _, v := range s.Data {
					values = append(values, string(v))
				}
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil {
				continue
			}
			ref := env.ValueFrom.SecretKeyRef
			if s := objects.Secret(p.Namespace, ref.Name); s != nil {
				values = append(values, string(s.Data[ref.Key]))
			}
		}
	}
	return values
}

// manifestText is what the pod's manifest says.
func manifestText(p *v1.Pod) string {
	spec, _ := json.Marshal(&p.Spec) // the types of the API can be marshalled
	return p.Namespace + "\n" + p.Name + "\n" + string(spec)
}

// mask replaces values in texts; nil replaces none.
type mask struct{ *strings.Replacer }

// newMask masks the values as they are, and as a path, a quoted text or one
// line of several shows them.
func newMask(values map[string]bool) *mask {
	forms := map[string]bool{}
	for v := range values {
		quoted := strconv.Quote(v)
		clean := filepath.Clean(v)
		for _, form := range append(strings.Split(v, "\n"), v, strings.TrimSpace(v), quoted[1:len(quoted)-1], clean, strings.Trim(clean, "/")) {
			if len(form) >= maskShortest {
				forms[form] = true
			}
		}
	}
	longest := make([]string, 0, len(forms))
	for form := range forms {
		longest = append(longest, form)
	}
	slices.SortFunc(longest, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(longest))
	for _, form := range longest {
		pairs = append(pairs, form, maskText)
	}
	return &mask{strings.NewReplacer(pairs...)}
}

// maskOf returns the pod's mask, nil if it has no secrets.
func (s *Syncer) maskOf(uid types.UID) *mask {
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

func (m *mask) text(s string) string {
	if m == nil {
		return s
	}
	return m.Replace(s)
}

func (m *mask) event(e event.Event) event.Event {
	if m == nil {
		return e
	}
	e.Message = m.text(e.Message)
	if e.Waiting != nil {
		w := *e.Waiting
		w.Message = m.text(w.Message)
		e.Waiting = &w
	}
	if e.Failure != nil {
		f := *e.Failure
		f.Text = m.text(f.Text)
		e.Failure = &f
	}
	if e.Probe != nil {
		p := *e.Probe
		p.Output = m.text(p.Output)
		e.Probe = &p
	}
	return e
}

func (m *mask) status(s v1.PodStatus) v1.PodStatus {
	if m == nil {
		return s
	}
	s = *s.DeepCopy()
	s.Message = m.text(s.Message)
	for i := range s.Conditions {
		s.Conditions[i].Message = m.text(s.Conditions[i].Message)
	}
	for _, list := range [...][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for _, state := range [...]*v1.ContainerState{&list[i].State, &list[i].LastTerminationState} {
				if state.Waiting != nil {
					state.Waiting.Message = m.text(state.Waiting.Message)
				}
				if state.Terminated != nil {
					state.Terminated.Message = m.text(state.Terminated.Message)
				}
			}
		}
	}
	return s
}

// error returns the error with its text masked. It is still what it was to
// errors.Is and errors.As.
func (m *mask) error(err error) error {
	if m == nil || err == nil {
		return err
	}
	text := err.Error()
	masked := m.text(text)
	if masked == text {
		return err
	}
	return &maskedError{err, masked}
}

type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
