//go:build !linux

package main

import "github.com/podctl/podctl/internal/cri"

// serverPID is not known here.
func serverPID(cri.Endpoint) int { return 0 }
