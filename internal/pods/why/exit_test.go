package why

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pods/view"
)

func TestProgramThatNeverRan(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		ran  time.Duration
		kind view.CauseKind
		text string
	}{
		"a CR after #!":           {"exec /s/run: no such file or directory", 10 * time.Millisecond, view.CauseStart, "its interpreter (a CR at the end of its #! line)"},
		"another architecture":    {"exec /app: exec format error", 10 * time.Millisecond, view.CauseStart, "another architecture"},
		"its own words, later":    {"exec /app: exec format error", time.Minute, view.CauseExit, "its program returned 1"},
		"its own words":           {"no such file or directory", 10 * time.Millisecond, view.CauseExit, "its program returned 1"},
		"words of another origin": {"exec /app: surprise", 10 * time.Millisecond, view.CauseStart, "cannot be executed"},
	} {
		got := causeOf(exit{code: 1, reason: "Error", started: now, finished: now.Add(c.ran), lastLine: c.line})
		if got.Kind != c.kind || !strings.Contains(got.Text, c.text) || c.kind == view.CauseStart && got.Confidence != string(Likely) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestExitZeroUnderAlways(t *testing.T) {
	if got := causeOf(exit{restarts: true}); got.Kind != view.CauseCompleted || got.Text != "it completed, and restartPolicy Always starts it again; OnFailure and Never do not" {
		t.Errorf("%+v", got)
	}
	if got := causeOf(exit{}); got.Text != "it completed" {
		t.Errorf("%+v", got)
	}
}
