//go:build !linux

package relay

func inBackground() {}
