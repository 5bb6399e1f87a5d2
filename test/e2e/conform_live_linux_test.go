package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/test/conform"
	steps "github.com/podctl/podctl/test/conform/inside"
	"github.com/podctl/podctl/test/live"
)

// beProbe runs what TestConform has containers run, and exits, if this process is one of them.
func beProbe() {
	if len(os.Args) > 1 && os.Args[1] == steps.Command {
		code, err := steps.Run(os.Args[2:], os.Stdout, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(100 * time.Millisecond) // containerd 1.6 loses what is in the pipe of a container that exits
		os.Exit(code)
	}
}

// TestConform: no runtime deviates in a way that it is not known for, and no pod is left.
func TestConform(t *testing.T) {
	live.Each(t, func(t *testing.T, rt *live.Instance) {
		p := makePlace(t, rt)
		o := conform.Options{Parallel: 4, Behaviours: conform.All()}
		disconnect, err := o.Connect(t.Context(), p.endpoint, host.Paths{Root: p.path("root"), Logs: p.path("logs"), Locks: p.path("run")})
		if err != nil {
			t.Fatal(err)
		}
		defer disconnect()
		results, err := conform.Run(t.Context(), context.WithoutCancel(t.Context()), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Unexpected() {
				t.Errorf("%s deviates: %s", r.Name, r.Detail)
			}
		}
		noPodsOf(t, p, conform.Namespace)
	})
}

func noPodsOf(t *testing.T, p *place, namespace string) {
	t.Helper()
	if out, errw, code := p.podctl("pods", "-o", "name"); code != 0 || strings.Contains(out, namespace) {
		t.Errorf("exit code %d, left over:\n%s%s", code, out, errw)
	}
}
