package daemon

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// A process that cannot be asked may have any pod: its directory and logs are no leftovers.
func TestPodsOfProcessesThatCannotBeSeenAreNotKnown(t *testing.T) {
	r := sim.New(sim.Options{})
	defer r.Close()
	// A socket of which no process is seen: it is in another PID namespace.
	unseen, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: "unix:///run/other.sock"}, Dial: r.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer unseen.Close()
	asker := owners.Asker{Locks: filepath.Join(t.TempDir(), "locks"), Procs: proc.FS(testutil.EmptyProc(t))}
	for name, gone := range map[string]bool{"in another PID namespace": false, "with --owner-is-gone": true} {
		asker.OwnerIsGone = gone
		_, err := otherProcesses{unseen, asker}.pods(t.Context())
		if _, isUnseen := errors.AsType[*owner.UnseenError](err); isUnseen == gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
