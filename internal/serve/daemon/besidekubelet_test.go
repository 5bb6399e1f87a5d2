package daemon

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/owners/kubelet"
)

// A kubelet that cannot be seen keeps podctl only from killing pods that it does not know.
func TestKillUnknownNeedsKubeletVisibility(t *testing.T) {
	unseen, beside := &kubelet.UnseenError{Socket: "/r.sock", Cause: errors.New("no")}, errors.New("a kubelet is connected")
	for _, c := range []struct {
		err     error
		kill    bool
		refused bool
	}{
		{nil, true, false}, {unseen, false, false}, {unseen, true, true}, {beside, false, true}, {beside, true, true},
	} {
		s := &Session{opts: Options{KillUnknown: c.kill}}
		if err := s.checkKubeletError(c.err); (err != nil) != c.refused {
			t.Errorf("%v, kill %v: %v", c.err, c.kill, err)
		}
	}
}
