//go:build !linux

package kubelet

import (
	"context"
	"errors"
	"net/netip"
)

// CheckNone finds nothing: kubelets run on Linux only.
func CheckNone(context.Context, string) error { return nil }

func find(context.Context, string) (int, error) { return 0, nil }

func findConfigured(context.Context, string) (int, error) { return 0, nil }

func commandLineOf(int) commandLine { return commandLine{} }

func inNetworkOf(_ int, do func() error) error { return do() }

func tcpSocket(_, _ netip.AddrPort) (uint32, error) { return 0, errors.ErrUnsupported }
