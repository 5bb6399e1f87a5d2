//go:build !linux

package relay

func lowerPriority() {}
