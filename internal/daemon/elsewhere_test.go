package daemon

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/owner"
)

// A process that cannot be asked may have any pod: its directory and logs are no leftovers.
func TestPodsOfProcessesThatAreNotSeenAreNotKnown(t *testing.T) {
	locks, err := owner.Open(filepath.Join(t.TempDir(), "locks"), "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	unseen := &owner.UnseenError{}
	for _, c := range []struct {
		name    string
		unseen  error
		unknown bool
	}{
		{"in the runtime's PID namespace, or with --owner-is-gone", nil, false},
		{"in another PID namespace", unseen, true},
	} {
		pods, err := podsOfOthers(locks, c.unseen)(t.Context())
		if errors.Is(err, unseen) != c.unknown {
			t.Errorf("%s: pods %v, error %v", c.name, pods, err)
		}
	}
}
