package e2e

import (
	"fmt"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// The faults that an agent must survive, one test each. After each of them no pod
// is lost or duplicated, no two pods of one name ever ran at once (lone checks
// that), and at the end nothing is left (withAgent).

// eachFault runs a test of the agent on a runtime of its own.
func eachFault(t *testing.T, test func(t *testing.T, a *agentPlace)) {
	t.Parallel()
	live.One(t, func(t *testing.T, rt *live.Instance) {
		test(t, withAgent(t, rt))
	}, live.Private())
}

// eachSmallDisk does so on a runtime whose data are on a file system of that
// size.
func eachSmallDisk(t *testing.T, size string, test func(t *testing.T, a *agentPlace, disk string)) {
	live.One(t, func(t *testing.T, rt *live.Instance) {
		disk := rt.SmallDisk(t, size)
		test(t, withAgent(t, rt), disk)
	}, live.Private())
}

// lone is a pod that writes up and down and its version to /mark/NAME. Its
// container holds /mark/NAME.on while it runs, and writes to /mark/twice if
// another one does.
func (a *agentPlace) lone(name, version string, more ...string) string {
	return a.marked(name, fmt.Sprintf(`cd /mark; trap "echo down%[2]s >> %[1]s; rmdir %[1]s.on; exit 0" TERM
		mkdir %[1]s.on || echo %[1]s%[2]s >> twice; echo up%[2]s >> %[1]s; `+forever, name, version), more...)
}

// lived waits until the pod's containers have written these, and asserts that
// none ever ran beside another one of its name.
func (a *agentPlace) lived(name string, lines ...string) {
	a.t.Helper()
	a.wrote(name, lines...)
	a.has("twice")
}
