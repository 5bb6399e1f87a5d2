package orphan

import (
	"errors"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
)

func TestRefusalWhereANamedSourceDoesNotAnswer(t *testing.T) {
	silent := errors.New("no answer")
	for _, c := range []struct {
		name    string
		answers owners.Answers
		refused string
	}{
		{"no source", owners.Answers{}, ""},
		{"a podctl process is silent: its locks speak", owners.Answers{Processes: []owners.Process{{Process: control.Process{Name: "agent"}, Err: silent}}}, ""},
		{"a kubelet is silent: its pods are not judged", owners.Answers{Kubelet: owners.Kubelet{Answer: kubelet.Answer{PID: 7, Err: silent}}}, ""},
		{"a manifest cannot be read", owners.Answers{Sources: []owners.Source{{Answer: sources.Answer{Err: silent}, Named: true}}}, "the desired pods are not known: no answer"},
		{"a named kubelet is silent", owners.Answers{Kubelet: owners.Kubelet{Named: true, Answer: kubelet.Answer{Err: silent}}}, "are not known"},
		{"the kubelet is said to be gone, and is not", owners.Answers{Kubelet: owners.Kubelet{Answer: kubelet.Answer{PID: 7}, Gone: true}}, "--kubelet-is-gone: a kubelet (pid 7) uses this runtime"},
	} {
		err := (&View{Facts: Facts{Answers: &c.answers}}).Refusal()
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}
