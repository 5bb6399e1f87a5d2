package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// other is a document of a kind that needs a control plane.
type other struct {
	file       string
	line       int
	kind, name string
}

// noEffectGroups are API groups without an effect on a single node, in addition to all
// groups below k8s.io.
var noEffectGroups = []string{"autoscaling", "policy", "extensions"}

// noEffectCoreKinds are such kinds of v1, and of the groups whose other kinds run.
var noEffectCoreKinds = strings.Fields(`Service Endpoints Namespace Node Event PodTemplate ControllerRevision Binding ComponentStatus`)

// isPowerless reports whether a document is of a kind that people put beside
// pods, and that has no effect without a control plane.
func isPowerless(version, kind string) bool {
	group, _, grouped := strings.Cut(version, "/")
	if !grouped || group == "apps" {
		return slices.Contains(noEffectCoreKinds, kind)
	}
	return slices.Contains(noEffectGroups, group) || strings.HasSuffix(group, ".k8s.io") && !isConfiguration(version)
}

func (l *loader) warnNoEffect(file, kind string, at *positions) {
	name := ""
	if n := at.find(parsePath("metadata.name")).value; n != nil {
		name = deref(n).Value
	}
	l.others = append(l.others, other{file, at.root.Line, kind, name})
}

// warnPowerless says once what of the input has no effect.
func (l *loader) warnPowerless() {
	if len(l.others) == 0 {
		return
	}
	var names []string
	for i, o := range l.others {
		text := fmt.Sprintf("%s %q", o.kind, o.name)
		if i > 0 {
			text += fmt.Sprintf(" (%s:%d)", o.file, o.line)
		}
		names = append(names, text)
	}
	first := l.others[0]
	l.set.Warnings = append(l.set.Warnings, Problem{
		File: first.file, Line: first.line, Message: "ignored without a control plane: " + strings.Join(names, ", "),
	})
}
