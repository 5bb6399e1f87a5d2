package images

import (
	"fmt"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri/pulls"
)

func TestProgressText(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	size := func(n uint64) string { return fmt.Sprint(n) }
	transit := func(total int64, idle time.Duration) []pulls.Layer {
		return []pulls.Layer{{Done: 10, Total: 10}, {Done: 5, Total: total, Started: at.Add(-time.Hour), Updated: at.Add(-idle)}}
	}
	for name, test := range map[string]struct {
		layers []pulls.Layer
		want   string
	}{
		"no manifest":    {nil, "reads the manifest"},
		"in flight":      {transit(30, 29*time.Second), "15 of 40, 3/s"},
		"no total":       {transit(0, time.Second), "15, 3/s"},
		"no progress":    {transit(30, 45*time.Second), "15 of 40, no progress for 45s"},
		"all were there": {transit(30, 0)[:1], "unpacks 10"},
	} {
		if got := ProgressText(pulls.Pull{At: at, Layers: test.layers}, 3.4, size); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
