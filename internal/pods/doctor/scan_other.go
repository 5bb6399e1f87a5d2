//go:build !linux

package doctor

import (
	"errors"
	"time"

	"github.com/podctl/podctl/internal/cri"
)

var errLinux = errors.New("only known on Linux")

type found struct {
	shims    []Shim
	mounts   map[string]string
	examined bool
	visible  bool
	// sameMounts: see that of Linux.
	sameMounts bool
}

func serverOf(cri.Endpoint) Server { return Server{} }

func scan(int, string, string, time.Time) found { return found{} }

func namespaces(string, time.Time) int { return 0 }

func isNotNetNamespace(string) bool { return false }

func readHost(int) Host { return Host{Err: errLinux, ClockErr: errLinux, UserNamespaces: -1} }

func readDisk(d Disk) Disk {
	d.Err = errLinux
	return d
}
