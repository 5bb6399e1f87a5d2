package main

import "regexp"

// known is why specs fail with podctl and pass with the kubelet.
type known struct {
	spec   *regexp.Regexp
	reason string
	// row is the beginning of a row of docs/kubelet-differences.md, "" where the reason
	// is not podctl's.
	row string
}

var knownFailures = []known{}

// explain returns what is known of a failure of a spec, nil if nothing is.
func explain(spec string) *known {
	for i := range knownFailures {
		if knownFailures[i].spec.MatchString(spec) {
			return &knownFailures[i]
		}
	}
	return nil
}
