package cgroup

import "k8s.io/apimachinery/pkg/types"

// Leftover is the cgroup of a pod that may be a leftover, as it was found. Two are
// equal only if they are the same cgroup: one that was removed and made again is
// another.
type Leftover struct {
	UID types.UID
	// inodes identify its directories in all hierarchies.
	inodes string
}
