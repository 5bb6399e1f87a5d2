package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// failure is everything known about a call that failed.
type failure struct {
	method, object string
	err            error // as gRPC gave it
	took           time.Duration
	allowed        time.Duration // 0 without a deadline; negative if it was over before the call
	endpoint       string
	dial           error // of the last attempt to connect, nil if it succeeded
}

// classify turns a failure into this package's error. It is the only place
// that knows status codes.
func classify(f failure) *Error {
	s := status.Convert(f.err)
	e := &Error{Method: f.method, Object: f.object, verb: calls[f.method].verb, text: shortened(s.Message(), maxText), status: s}
	switch s.Code() {
	case codes.NotFound:
		e.kinds = []error{ErrNotFound}
	case codes.Unimplemented:
		e.kinds = []error{ErrUnsupported}
	case codes.PermissionDenied, codes.Unauthenticated:
		e.kinds = []error{ErrPermission}
	case codes.Canceled:
		e.kinds = []error{context.Canceled}
	case codes.DeadlineExceeded:
		e.kinds = []error{ErrDeadline}
		if f.allowed != 0 && f.took >= f.allowed { // else it is the runtime's own deadline, and its text says which
			e.text = fmt.Sprintf("no answer within %s", max(f.allowed.Round(time.Millisecond), time.Millisecond))
			if f.object == "" { // not one container or sandbox that is stuck
				e.kinds = append(e.kinds, ErrHung)
			}
		}
	case codes.Unavailable:
		e.kinds = []error{ErrUnavailable}
		if f.dial != nil {
			describeDial(e, f.endpoint, f.dial)
		}
	case codes.ResourceExhausted:
		e.kinds = []error{ErrTooLarge}
	case codes.AlreadyExists:
		e.kinds = []error{ErrNameReserved}
	default:
		switch {
		case nameReserved(e.text):
			e.kinds = []error{ErrNameReserved}
		case f.method == "UpdatePodSandboxResources" && strings.Contains(e.text, "not implemented"): // containerd 2.2
			e.kinds = []error{ErrUnsupported}
		}
	}
	return e
}

// nameReserved knows the runtimes' texts for a name that is taken: they send
// them with the code Unknown (containerd's registrar; CRI-O's
// ReservePodName, ReserveContainerName).
func nameReserved(text string) bool {
	for _, s := range []string{
		"failed to reserve sandbox name", "failed to reserve container name", // containerd
		"name is reserved", "reserving pod name", "reserving ctr name", // CRI-O
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// describeDial adds to e why no connection could be made, and what to do about it.
func describeDial(e *Error, endpoint string, err error) {
	path := socketPath(endpoint)
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.kinds = append(e.kinds, ErrPermission)
		e.text = fmt.Sprintf("permission denied on %s", path)
		e.hint = "only root can open the runtime's socket: run podctl as root, for instance with sudo"
	case errors.Is(err, fs.ErrNotExist):
		e.text = fmt.Sprintf("no socket at %s", path)
		e.hint = "start the runtime, or name its endpoint: --runtime-endpoint, CONTAINER_RUNTIME_ENDPOINT or /etc/crictl.yaml"
	case errors.Is(err, syscall.ECONNREFUSED) && !isSocket(path):
		e.text = fmt.Sprintf("%s is not a socket", path)
		e.hint = "name the runtime's socket, as in unix:///run/containerd/containerd.sock; a recording is tape:FILE"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.text = fmt.Sprintf("no process listens at %s", path)
		e.hint = "the socket remains from a runtime that exited: start it again, for instance with systemctl start " + serviceOf(path)
	default:
		e.text = fmt.Sprintf("connect to %s: %v", path, err)
	}
}

// isSocket reports whether the file at path is a socket, or cannot be examined.
func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode()&fs.ModeSocket != 0
}

// serviceOf guesses the unit that serves a socket.
func serviceOf(path string) string {
	for _, name := range []string{"crio", "cri-dockerd", "k3s", "k0s", "microk8s"} {
		if strings.Contains(path, name) {
			return name
		}
	}
	return "containerd"
}
