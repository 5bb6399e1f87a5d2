//go:build !linux

package doctor

import (
	"errors"

	"github.com/podctl/podctl/internal/cri"
)

var errLinux = errors.New("only known on Linux")

func serverOf(cri.Endpoint) Server { return Server{} }

func readHost(int) Host { return Host{Err: errLinux, UserNamespaces: -1} }

func readDisk(d Disk) Disk {
	d.Err = errLinux
	return d
}
