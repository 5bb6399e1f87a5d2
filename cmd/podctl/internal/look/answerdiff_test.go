package look

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDiffAnswers(t *testing.T) {
	before := decoded(t, `{"status": {"id": "a", "exitCode": 1, "labels": {"app/name": "x"}, "mounts": []}, "env": ["A=1", "B=2"], "args": ["x", "y"]}`)
	after := decoded(t, `{"status": {"id": "b", "exitCode": 1, "labels": {"app/name": "y"}}, "env": ["B=3", "A=1", "C=4"], "args": ["x"]}`)
	var lines []string
	for _, d := range diffAnswers(before, after) {
		lines = append(lines, fmt.Sprintf("%s: %v → %v", d.Path, d.Old, d.New))
	}
	const want = `.args[1]: y → <nil>
.env[B]: 2 → 3
.env[C]: <nil> → 4
.status.id: a → b
.status.labels["app/name"]: x → y`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d := diffAnswers(before, before); len(d) > 0 {
		t.Error(d)
	}
}
