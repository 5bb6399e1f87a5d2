package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestWordAllowsMoreEditsInLongerWords(t *testing.T) {
	known := []string{"run", "validate", "render", "describe", "r"}
	for word, want := range map[string]string{
		"runn": "run", "rnu": "", "ru": "run", "valdate": "validate", "redner": "render", "descrbie": "describe", "desc": "", "xyz": "", "": "", "r": "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestNamesThatBeginWithTheWordAreSuggestedWhereNoneIsNear(t *testing.T) {
	known := []string{"web-7d4b9-x2x", "web-7d4b9-abc", "web-7d4b9-def", "web-7d4b9-ghi", "db"}
	for name, want := range map[string][]string{
		"web": known[:3], "dc": {"db"}, "none-of-them": nil, "": nil,
	} {
		if got := Names(name, known); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Long words are not compared with others, nor is a word with very many.
func TestWordIsNotSoughtAmongTooMuch(t *testing.T) {
	long, many := strings.Repeat("a", maxWord), slices.Repeat([]string{"web"}, maxKnown)
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{{long, []string{long + "b"}, long + "b"}, {long + "a", []string{long}, ""}, {"wob", many, "web"}, {"wob", append(many, "web"), ""}} {
		if got := Word(c.word, c.known); got != c.want {
			t.Errorf("%.80s: %.80s, want %.80s", c.word, got, c.want)
		}
	}
}
