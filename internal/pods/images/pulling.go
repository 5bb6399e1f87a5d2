package images

import (
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/cri/pulls"
)

// ProgressText is how far a pull is: "12Mi of 40Mi, 3.1Mi/s", or "12Mi of 40Mi, no progress
// for 45s"; size formats bytes.
func ProgressText(p pulls.Pull, rate float64, size func(uint64) string) string {
	done, total := size(uint64(p.Done())), p.Total()
	switch {
	case len(p.Layers) == 0:
		return "reads the manifest"
	case p.Transferred():
		return "unpacks " + done
	case total > 0:
		done += " of " + size(uint64(total))
	}
	if p.Idle() >= pulls.LongIdle {
		return done + ", no progress for " + duration.HumanDuration(p.Idle())
	}
	return done + ", " + size(uint64(rate)) + "/s"
}
