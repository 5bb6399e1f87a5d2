package main

import (
	"regexp"

	"github.com/podctl/podctl/test/junit"
)

// known is why specs fail with podctl. It holds for failures that match both patterns.
type known struct {
	spec, text *regexp.Regexp // nil matches all
	reason     string
	// row is the beginning of a row of docs/kubelet-differences.md, "" where the reason
	// is not podctl's.
	row string
}

var knownFailures = []known{
	{
		text:   regexp.MustCompile(`oom_score_adj value 0 not equal to expected -|failed to find expected oom_score_adj value -`),
		reason: "the host has no CAP_SYS_RESOURCE, without which no process may lower an oom_score_adj; on a node that has it TestOOMScoreAndDummyLink of test/guest sees -997",
	},
	{
		text:   regexp.MustCompile(`type dummy.*Operation not supported`),
		reason: "the host's kernel has no dummy network links; on a node that has them TestOOMScoreAndDummyLink of test/guest adds one",
	},
	{
		text:   regexp.MustCompile(`can't create /file: Read-only file system`),
		reason: "the images' sh is bash, which words it in another way than busybox's, whose words TestSecurityContextAndLimitsFromInside reads",
	},
}

// explain returns what is known of a failure of a spec, nil if nothing is.
func explain(spec string, r junit.Result) *known {
	for i := range knownFailures {
		k := &knownFailures[i]
		if (k.spec == nil || k.spec.MatchString(spec)) && (k.text == nil || k.text.MatchString(r.Why)) {
			return k
		}
	}
	return nil
}
