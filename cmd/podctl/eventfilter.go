package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// eventTypes are those that are delivered.
var eventTypes = []string{
	string(pleg.ContainerStarted), string(pleg.ContainerDied), string(pleg.ContainerRemoved), string(pleg.PodSync),
}

// eventFilter says which events are shown. The zero value is all of them.
type eventFilter struct {
	namespace string
	pods      []string // names, or namespace/name
	types     []string
	selector  labels.Selector // of the sandbox's labels; nil is any
}

// filterFlags are those of an eventFilter, but for the selector.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "only pods of this `NAMESPACE`"},
		&cli.StringSliceFlag{Name: "pod", Usage: "only the pod `NAME`, or NAMESPACE/NAME; may be repeated"},
		&cli.StringSliceFlag{Name: "type", Usage: "only events of this `TYPE`: " + strings.Join(eventTypes, ", ") + "; may be repeated"},
	}
}

func newEventFilter(namespace string, pods, types []string, selector string) (eventFilter, error) {
	f := eventFilter{namespace: namespace, pods: pods}
	for _, given := range types {
		i := slices.IndexFunc(eventTypes, func(t string) bool { return strings.EqualFold(t, given) })
		if i < 0 {
			hint := "one of: " + strings.Join(eventTypes, ", ")
			if near := closest(given, eventTypes); near != "" {
				hint = "did you mean " + near + "?"
			}
			return f, &usageError{message: "--type " + given + " is no event", hint: hint}
		}
		f.types = append(f.types, eventTypes[i])
	}
	if selector != "" {
		var err error
		if f.selector, err = labels.Parse(selector); err != nil {
			return f, usagef("--selector %q: %v", selector, err)
		}
	}
	return f, nil
}

// shows tells whether an event passes. A pod without a sandbox has no labels.
func (f eventFilter) shows(ev pleg.Event) bool {
	switch {
	case f.namespace != "" && ev.Namespace != f.namespace:
		return false
	case len(f.pods) > 0 && !slices.Contains(f.pods, ev.Name) && !slices.Contains(f.pods, pod.DisplayName(ev.Namespace, ev.Name)):
		return false
	case len(f.types) > 0 && !slices.Contains(f.types, string(ev.Type)):
		return false
	case f.selector != nil:
		return f.selector.Matches(labels.Set(sandboxLabels(ev.Pod)))
	}
	return true
}

// sandboxLabels are those of the pod's newest sandbox.
func sandboxLabels(p *pod.Pod) map[string]string {
	if p == nil || len(p.Sandboxes) == 0 {
		return nil
	}
	return p.Sandboxes[0].Labels
}
