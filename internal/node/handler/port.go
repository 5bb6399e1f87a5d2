package handler

import (
	"fmt"
	"net"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// port returns the number of a port that is given by number or by the name of one
// of the container's ports (ResolveContainerPort in pkg/probe/util.go).
func port(p intstr.IntOrString, c *v1.Container) (int, error) {
	number := p.IntValue()
	if p.Type == intstr.String {
		named, ok := portNamed(p.StrVal, c)
		if !ok {
			return 0, fmt.Errorf("port %q not found", p.StrVal)
		}
		number = named
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", number)
	}
	return number, nil
}

func portNamed(name string, c *v1.Container) (int, bool) {
	for i := range c.Ports {
		if c.Ports[i].Name == name {
			return int(c.Ports[i].ContainerPort), true
		}
	}
	return 0, false
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
