package lab

import (
	"testing"

	"github.com/podctl/podctl/internal/cri"
)

func TestHandlerThatTheRuntimeDoesNotListIsRefused(t *testing.T) {
	listed := cri.RuntimeStatus{Handlers: []cri.Handler{{Name: ""}, {Name: "crun", UserNamespaces: true}}}
	for _, c := range []struct {
		status cri.RuntimeStatus
		name   string
		want   cri.Handler
		err    string
	}{
		{listed, "crun", listed.Handlers[1], ""},
		{listed, "", listed.Handlers[0], ""},
		{listed, "kata", cri.Handler{}, `--handler "kata": the runtime has (default), crun`},
		{cri.RuntimeStatus{}, "kata", cri.Handler{}, ""}, // older runtimes do not list them
	} {
		got, err := handlerOf(c.status, c.name)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || said != c.err {
			t.Errorf("%q: %+v, %q; want %+v, %q", c.name, got, said, c.want, c.err)
		}
	}
}
