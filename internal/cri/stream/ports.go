package stream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// Port is what a user asks to forward: [LOCAL:]REMOTE.
type Port struct {
	// Local is 0 for the number of the remote port, unless Any.
	Local uint16
	// Any free local port.
	Any bool
	// Remote is 0 if Name is the name of a port of a container.
	Remote uint16
	Name   string
}

// ParsePort parses [LOCAL:]REMOTE, where REMOTE is a number or the name of a port;
// LOCAL is REMOTE by default, and any free port if it is empty or 0. /tcp may
// follow.
func ParsePort(text string) (Port, error) {
	wrong := func(format string, args ...any) (Port, error) {
		return Port{}, hint.Errorf("8080, 8080:80, :80, or the name of a port: 8080:http", "port %q: "+format, append([]any{text}, args...)...)
	}
	spec, protocol, _ := strings.Cut(text, "/")
	if protocol = strings.ToLower(protocol); strings.Contains(text, "/") && protocol != "tcp" {
		if protocol == "udp" || protocol == "sctp" {
			return Port{}, fmt.Errorf("port %q: %s cannot be forwarded: the CRI forwards TCP only", text, strings.ToUpper(protocol))
		}
		return wrong("unknown protocol %q", protocol)
	}
	local, remote, two := strings.Cut(spec, ":")
	if !two {
		local, remote = "", local
	}
	var p Port
	number, err := strconv.ParseUint(remote, 10, 16)
	switch {
	case remote == "" || strings.Contains(remote, ":"):
		return wrong("not [LOCAL:]REMOTE")
	case err == nil && number == 0:
		return wrong("the remote port is 0")
	case err == nil:
		p.Remote = uint16(number)
	case strings.Trim(remote, "0123456789") == "":
		return wrong("%s is larger than 65535", remote)
	case strings.HasPrefix(remote, "-"):
		return wrong("not [LOCAL:]REMOTE")
	default:
		p.Name = remote
	}
	switch {
	case !two:
		return p, nil
	case local == "":
		p.Any = true
		return p, nil
	}
	number, err = strconv.ParseUint(local, 10, 16)
	if err != nil {
		return wrong("the local port %q is not a number from 0 to 65535", local)
	}
	p.Local, p.Any = uint16(number), number == 0
	return p, nil
}
