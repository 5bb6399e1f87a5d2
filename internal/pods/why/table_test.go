package why

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

// texts are errors of public reports and of this project's gallery: the step in which each came, the
// layers that are right, "-" if none is known, and the text.
//
//go:embed testdata/texts.tsv
var texts string

func TestTextsOfTheField(t *testing.T) {
	right := 0
	for line := range strings.Lines(texts) {
		step, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		layers, text, ok := strings.Cut(rest, "\t")
		if !ok || strings.HasPrefix(step, "#") {
			continue
		}
		got := Explain(text, Step(step))
		switch {
		case len(got) == 0 && layers == "-":
		case len(got) != 1 || !slices.Contains(strings.Split(layers, "|"), string(got[0].Layer)):
			t.Errorf("%s\n  in step %s, right is %s: %+v", text, step, layers, got)
			continue
		case got[0].Meaning == "" || got[0].Confidence == "" || got[0].Step == "":
			t.Errorf("%s: %+v", text, got)
		}
		right++
	}
	t.Logf("%d right", right)
}
