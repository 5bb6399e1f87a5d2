package program

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
)

// Finding out why a connection hangs takes longer than the connection's own deadline.
func TestCompletionEndsInTimeWhateverItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		all := inTime(t.Context(), completionTimeout, func(context.Context) []cmdline.Candidate {
			time.Sleep(time.Second)
			return []cmdline.Candidate{{Word: "late"}}
		})
		if took := time.Since(begun); len(all) > 0 || took != completionTimeout {
			t.Errorf("%v after %s", all, took)
		}
		time.Sleep(time.Second)
	})
}
