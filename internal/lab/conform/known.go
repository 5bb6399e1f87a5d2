package conform

import (
	"slices"
	"strings"
)

// Known is a deviation that a runtime is known for.
type Known struct {
	Behaviour string   `json:"behaviour"` // its name
	Runtime   string   `json:"runtime"`   // that deviates
	Versions  []string `json:"versions"`  // prefixes of versions: 1.6.
	Why       string   `json:"why"`       // it deviates
	Link      string   `json:"link"`      // upstream's issue or change
}

var knownDeviations = []Known{
	{
		Behaviour: "oom-kill", Runtime: "containerd", Versions: []string{"1.", "2."}, Why: "an exit that is seen before the event of its OOM kill has the reason Error",
		Link: "https://github.com/containerd/containerd/issues/8180",
	},
	{
		Behaviour: "oom-kill-of-a-child", Runtime: "containerd", Versions: []string{"1.", "2."}, Why: "a container is marked OOMKilled for any process of it",
		Link: "https://github.com/kubernetes/kubernetes/issues/104454",
	},
	{
		Behaviour: "oom-kill-of-a-child", Runtime: "cri-o", Versions: []string{"1."}, Why: "a container is marked OOMKilled for any process of it",
		Link: "https://github.com/kubernetes/kubernetes/issues/104454",
	},
}

// known returns the deviation that the runtime is known for, nil if it is not.
func known(behaviour, runtime, version string) *Known {
	version = strings.TrimPrefix(version, "v")
	for _, k := range knownDeviations {
		if k.Behaviour == behaviour && k.Runtime == runtime && slices.ContainsFunc(k.Versions, func(prefix string) bool { return strings.HasPrefix(version, prefix) }) {
			return &k
		}
	}
	return nil
}
