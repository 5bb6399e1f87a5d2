package cri

import (
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// Server is the process that serves a runtime's socket. The zero value is an
// unknown one: it is in another PID namespace, or on another system.
type Server struct {
	PID  int
	Comm string // its name, "" if unknown
	// State is 0 if unknown.
	State proc.State
	// Started is zero if unknown.
	Started time.Time
}

// ServerOf returns the process that serves the endpoint.
func ServerOf(endpoint Endpoint) Server {
	path, isUnix := strings.CutPrefix(endpoint.Runtime, "unix://")
	if !isUnix {
		return Server{}
	}
	return ServerAt(proc.Default, peerPID(path))
}

// ServerAt returns the server of a PID, the zero value for 0.
func ServerAt(procs proc.FS, pid int) Server {
	s := Server{PID: pid}
	if p, err := procs.Read(pid); pid != 0 && err == nil {
		s.Comm, s.State = p.Comm, p.State
		s.Started, _ = procs.Started(p)
	}
	return s
}

// LogsGoroutines reports whether SIGUSR1 makes the process log its goroutines.
// It would terminate another program.
func (s Server) LogsGoroutines() bool {
	return s.PID != 0 && (s.Comm == "containerd" || s.Comm == "crio")
}

// stopped reports whether a signal or a debugger has stopped the process.
func (s Server) stopped() bool { return s.State == proc.Stopped || s.State == proc.Traced }
