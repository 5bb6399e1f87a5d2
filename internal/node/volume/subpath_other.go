//go:build !linux

package volume

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Pods only run on linux.

func makeBeneath(string, string) error { return nil }

func bindBeneath(string, string, string) error { return errors.ErrUnsupported }

func (m *Manager) unmountSubPaths(types.UID) error { return nil }
