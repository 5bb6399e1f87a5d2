package output

import (
	"strings"
	"testing"
)

// Numbers are printed and compared as they are in JSON, as kubectl does.
func TestTemplatesSeeIntegersAsIntegers(t *testing.T) {
	type data struct {
		Name  string  `json:"name"`
		Bytes uint64  `json:"bytes"`
		Cores float64 `json:"cores"`
	}
	items := []Item{{Name: "big", Data: data{"big", 1 << 53, 0.5}}, {Name: "small", Data: data{"small", 20, 2.5}}}
	for _, c := range []struct{ output, sortBy, want string }{
		{"jsonpath={[*].bytes}", "", "9007199254740992 20"},
		{"jsonpath={[*].bytes}", ".bytes", "20 9007199254740992"},
		{"jsonpath={[*].cores}", ".cores", "0.5 2.5"},
		{"jsonpath={[?(@.bytes>100)].name}", "", "big"},
		{"go-template={{range .}}{{if gt .bytes 100}}{{.bytes}} {{end}}{{end}}", "", "9007199254740992 "},
		{"custom-columns=BYTES:.bytes", "", "BYTES\n9007199254740992\n20\n"},
	} {
		f, err := ParseFormat(c.output)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SortBy(c.sortBy); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := f.Print(&got, List{Items: items}); err != nil || got.String() != c.want {
			t.Errorf("%s, sorted by %q: %v\n%q, want\n%q", c.output, c.sortBy, err, got.String(), c.want)
		}
	}
}
