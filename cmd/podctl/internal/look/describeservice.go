package look

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/services"
)

// printService prints the page of a Service: what is wrong first, and below its ports what is behind them.
func printService(w io.Writer, s *services.Service) {
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-14s  %s\n", key, output.OneLine(value))
		}
	}
	ready := slices.DeleteFunc(slices.Clone(s.Endpoints), func(e services.Endpoint) bool { return !e.Ready })
	fmt.Fprintf(w, "%s/%s  %s  %d/%d ready\n", s.Namespace, s.Name, s.Type, len(ready), len(s.Endpoints))
	if s.Problem != "" {
		row("Why", "not served: "+s.Problem)
	}
	row("Why", s.Note)
	row("Stale", s.Stale)
	row("Address", s.Address)
	row("External name", s.ExternalName)
	for _, p := range s.Ports {
		row("Port", strings.TrimSpace(p.Name+" "+p.String()))
	}
	row("Selector", labels.SelectorFromSet(s.Selector).String())
	if s.Affinity > 0 {
		row("Affinity", fmt.Sprintf("client, %d s", s.Affinity))
	}
	fmt.Fprintln(w, "Endpoints")
	for _, e := range s.Endpoints {
		fmt.Fprintf(w, "  %s  %s  %s\n", endpointAddress(e), output.OneLine(cmp.Or(e.Pod, "-")), endpointState(e))
	}
	if len(s.Endpoints) == 0 {
		fmt.Fprintln(w, "  none")
	}
}

// endpointAddress is the address with the ports that the endpoint has.
func endpointAddress(e services.Endpoint) string {
	var ports []string
	for _, p := range e.Ports {
		if p != 0 {
			ports = append(ports, fmt.Sprint(p))
		}
	}
	if len(ports) == 0 {
		return e.Address
	}
	return e.Address + ":" + strings.Join(ports, ",")
}

func endpointState(e services.Endpoint) string {
	switch {
	case e.Terminating && e.Serving:
		return "terminating, serves"
	case e.Terminating:
		return "terminating"
	case e.Ready:
		return "ready"
	}
	return "not ready"
}
