package e2e

import (
	"slices"

	"github.com/podctl/podctl/internal/pod/testutil"
	"github.com/podctl/podctl/internal/pods/leak"
)

// removeLeaks removes what the runtime left of sandboxes that it does not list, as `podctl orphans
// --kill` does six minutes later. The cgroups of pods are left to their owner.
func (g *gallery) removeLeaks() {
	g.t.Helper()
	f := leakFinder(g.t, g.rt)
	look := func() []leak.Leak {
		found, err := f.Find(g.t.Context(), nil)
		if err != nil || !found.Examined {
			g.t.Fatalf("leaks are not looked for: %v %v", err, found.Unread)
		}
		return slices.DeleteFunc(found.Leaks, func(l leak.Leak) bool { return l.Assumed })
	}
	r := leak.Remover{Host: f.Host, Step: func(call string, err error) { g.t.Log(call, err) }}
	var left []leak.Leak
	testutil.Eventually(g.t, 2*timeout, "what the runtime left is removed", func() bool {
		left = look()
		for _, now := range look() {
			if i := slices.IndexFunc(left, func(l leak.Leak) bool { return l.ID == now.ID }); i >= 0 {
				if err := r.Remove(g.t.Context(), left[i], now); err != nil {
					g.t.Log(err)
				}
			}
		}
		return len(left) == 0
	})
}
