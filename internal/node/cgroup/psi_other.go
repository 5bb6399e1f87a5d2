//go:build !linux

package cgroup

import "github.com/podctl/podctl/internal/pod"

// PSI returns that nothing is known.
func (*Tree) PSI(string) pod.PSI { return pod.PSI{Unknown: errNeedsLinux.Error()} }
