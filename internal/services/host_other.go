//go:build !linux

package services

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
)

// Host serves nothing on other systems.
type Host struct{}

// NewHost returns a host that serves nothing.
func NewHost(netip.Prefix, func() []string, *slog.Logger) *Host { return &Host{} }

// Start returns an error.
func (*Host) Start(context.Context) error { return errors.ErrUnsupported }

// Apply is never called.
func (*Host) Apply(context.Context, []Service, []PodAddress) error { return errors.ErrUnsupported }

// Stop is never called.
func (*Host) Stop(bool) error { return nil }

// Remove finds nothing.
func Remove(context.Context, string, bool) (bool, error) { return false, nil }
