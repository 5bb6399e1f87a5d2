package logrotate

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/cri/logs"
)

const (
	zipSuffix = ".gz"
	tmpSuffix = ".tmp"
	// stamp is the time in a rotated file's name (pkg/kubelet/logs).
	stamp = "20060102-150405"
)

// Policy is when and how logs are rotated.
type Policy struct {
	// MaxSize in bytes is what a log may have; negative turns rotation off.
	MaxSize int64
	// MaxFiles is how many files a container may have, at least 2.
	MaxFiles int
}

// rotationPlan has the rotated files to remove and to compress before the log is renamed.
type rotationPlan struct{ remove, compress []string }

// plan says what to do with the files beside a log: those that are named like
// it, with more behind a dot. Pure.
func plan(beside []string, p Policy) rotationPlan {
	beside = slices.SortedFunc(slices.Values(beside), logs.CompareRotated)
	var s rotationPlan
	var kept []string
	for _, name := range beside {
		switch {
		case strings.HasSuffix(name, tmpSuffix), slices.Contains(beside, name+zipSuffix):
			s.remove = append(s.remove, name) // left over, or compressed already
		default:
			kept = append(kept, name)
		}
	}
	// The log itself and what it is renamed to are files, too.
	excess := max(0, len(kept)-max(0, p.MaxFiles-2))
	s.remove = append(s.remove, kept[:excess]...)
	for _, name := range kept[excess:] {
		if !strings.HasSuffix(name, zipSuffix) {
			s.compress = append(s.compress, name)
		}
	}
	return s
}
