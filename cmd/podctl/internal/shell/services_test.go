package shell

import (
	"testing"

	"github.com/podctl/podctl/internal/services"
)

// A port of a Service is that of the pod behind it, by number or name; another word remains, and so does one
// of a port that the endpoint does not report.
func TestThroughPort(t *testing.T) {
	s := &services.Service{Ports: []services.Port{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}}}
	for _, c := range []struct {
		pair string
		of   []int32
		want string
	}{
		{"80", []int32{8080, 9100}, "80:8080"},
		{"8000:80", []int32{8080, 9100}, "8000:8080"},
		{"metrics", []int32{8080, 9100}, "9090:9100"},
		{"443", []int32{8080, 9100}, "443"},
		{"80", []int32{0, 9100}, "80"},
		{"metrics", []int32{8080}, "metrics"},
	} {
		if got := throughPort(s, services.Endpoint{Ports: c.of}, c.pair); got != c.want {
			t.Errorf("%q with ports %d is %q, want %q", c.pair, c.of, got, c.want)
		}
	}
}
