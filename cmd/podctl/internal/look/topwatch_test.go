package look

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/inspect"
)

// onScreen prints lists, one after the other, of as many pods, each of which uses as
// many cores as the list has a number.
func onScreen(t *testing.T, tty bool, width, height, pods int, cores ...float64) string {
	t.Helper()
	var out bytes.Buffer
	s := topScreen{top: &top{env: &shell.Env{
		Out: output.NewWriter(&out), TTY: tty, Size: func() (int, int) { return width, height },
		Now: func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) },
	}}}
	for _, n := range cores {
		var items []topItem
		for i := range pods {
			items = append(items, topItem{cliName: fmt.Sprintf("default/p%d", i), Metadata: inspect.Metadata{Namespace: "default", Name: fmt.Sprintf("p%d", i), UID: "u"}, CPU: topCPU{Cores: &n}})
		}
		if err := s.print(items); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestListTakesThePlaceOfTheLastOneOnATerminal(t *testing.T) {
	first, second, found := strings.Cut(onScreen(t, true, 100, 24, 2, 0.5, 1), "\r\x1b[4A\x1b[J")
	if !found || strings.Contains(second, "\x1b") || strings.Count(first, "\n") != 4 || !strings.Contains(second, "1000m") {
		t.Errorf("%q\n%q", first, second)
	}
	if text := onScreen(t, false, 100, 24, 2, 0.5, 1); strings.Contains(text, "\x1b") || strings.Count(text, "15:04:05\n") != 2 {
		t.Errorf("in a pipe:\n%s", text)
	}
}

func TestListIsCutToTheHeightOfTheTerminal(t *testing.T) {
	text := onScreen(t, true, 100, 10, 20, 0.5)
	if lines := strings.Count(text, "\n"); lines != 9 || !strings.HasSuffix(text, "and 14 more\n") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}
