package why

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// Meaning is what an error text implies.
type Meaning struct {
	Step       Step       // in which it failed, "" if the text does not show it
	Layer      Layer      // that it names; LayerNone if it names none
	Confidence Confidence // how sure that is
	Meaning    string     // what it means
	Hint       string     // the next command, "" if none is known
	Text       string     // the error

	weak, unresolved bool
}

// Bounds of what Explain reads and returns.
const (
	MaxText     = 1 << 20 // bytes of a text
	maxMeanings = 100
)

// Explain says what a text of a runtime, kubelet, CNI plugin or kernel implies, of a pod in a step, ""
// if that is not known: a single error, lines of a log, or what kubectl describe prints, of which each
// kind of error is explained once. It returns nothing for a text of which nothing is known.
func Explain(text string, at Step) []Meaning {
	var all []Meaning
	type kind struct {
		step    Step
		meaning string
	}
	known := map[kind]bool{}
	for _, r := range splitErrors(text[:min(len(text), MaxText)]) {
		step := at
		if step == "" {
			step = r.step
		}
		m, found := explain(r.text, step)
		if k := (kind{m.Step, m.Meaning}); !found || known[k] {
			continue
		} else {
			known[k] = true
		}
		if all = append(all, m); len(all) == maxMeanings {
			break
		}
	}
	if strong := slices.DeleteFunc(slices.Clone(all), func(m Meaning) bool { return m.weak }); len(strong) > 0 {
		return strong
	}
	return all
}

// needsName reports whether the hint has a word in capitals for what the text does not name.
func (m *Meaning) needsName() bool {
	return slices.ContainsFunc([]string{"POD", "IMAGE", "FILE", "PATH", "REGISTRY"}, func(word string) bool { return strings.Contains(m.Hint, word) })
}

// explain returns the meaning of one error.
func explain(text string, at Step) (Meaning, bool) {
	p := newPhrase(text, at)
	for i := range table {
		r := &table[i]
		if len(r.words) > 0 && !p.has(r.words...) || r.in.holds != nil && !r.in.holds(p) {
			continue
		}
		m := Meaning{Step: r.step, Layer: r.layer, Confidence: r.sure, Meaning: r.means, Hint: r.hint, Text: text, weak: r.weak}
		if m.Confidence == "" {
			m.Confidence = Observed
		}
		if m.Step == "" {
			m.Step = p.step()
		}
		if m.Step == StepPull && (ofSandbox.holds(p) || p.has("sandbox image")) {
			m.Meaning = "the image of the sandbox (pause) cannot be pulled: " + m.Meaning
		}
		if m.unresolved = r.means == unresolvedName; m.unresolved {
			m.Meaning, m.Hint = unresolved(text)
		}
		if image := imageIn(text); image != "" {
			m.Hint = strings.Replace(m.Hint, "IMAGE", image, 1)
		}
		return m, true
	}
	return Meaning{}, false
}

// step returns the step of a phrase: the pod's, else the one that the operation shows which failed.
func (p *phrase) step() Step {
	switch {
	case p.at != "":
		return p.at
	case inPull.holds(p):
		return StepPull
	case inStop.holds(p):
		return StepStop
	case p.has("pod sandbox", "podsandbox", "start sandbox", "sandbox container"):
		return StepSandbox
	case p.has("create containerd container", "createcontainer", "create container", "generate container", "container create failed"):
		return StepCreate
	case p.has("containerd task", "runc create failed", "start container", "startcontainer", "oci runtime create failed"):
		return StepStart
	}
	return ""
}

// imageName is how errors name an image.
var imageName = lazyregexp.New(`(?:image|reference) [\\"]*([\w./:@-]+)`)

// imageIn returns the image that an error names, "" if it names none that can stand on a command line.
func imageIn(text string) string {
	m := imageName().FindStringSubmatch(text[:min(len(text), maxPhrase)])
	if m == nil {
		return ""
	}
	for part := range strings.FieldsFuncSeq(m[1], func(r rune) bool { return strings.ContainsRune("/:@", r) }) {
		if !pod.IsShellSafe(part) {
			return ""
		}
	}
	if !strings.ContainsAny(m[1], "/:") {
		return ""
	}
	return strings.TrimRight(m[1], ":")
}

// reserved is what containerd and CRI-O say of a name that another sandbox or container has. In
// a kubelet's log it is quoted again.
var reserved = lazyregexp.New(`name [\\"]*([^\\"\s]+)[\\"]* is reserved for [\\"]*([0-9a-f]{8,64})`)

// ReservedFor returns the id that has the name, and the name; "" if the text is not about one.
func ReservedFor(text string) (id, name string) {
	m := reserved().FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	return m[2], m[1]
}
