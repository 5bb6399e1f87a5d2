package report

import (
	"strings"

	"github.com/podctl/podctl/internal/pod/secret"
)

// Masker replaces what may be secret in texts, and counts it.
type Masker struct {
	values *secret.Mask
	// counts are by rule, total is of all placeholders.
	counts map[string]int
	total  int
}

// Masked is what was masked by one rule.
type Masked struct {
	What  string
	Count int
}

// valuesRule is the rule of known values.
const valuesRule = "values of Secret volumes, and of environment variables that come from a Secret or have a name such as PASSWORD or TOKEN, wherever they stand"

// rule masks what it finds in a text, and returns how often.
type rule struct {
	what string
	mask func(text string) (masked string, n int)
}

// rules are applied in this order, after the values. Their expressions begin with a literal, or
// with words that scan finds: reports are large, and searching for anything else takes seconds.
var rules = []rule{
	{"private keys (PEM)", replace(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`, secret.Placeholder)},
	{"tokens in the form of a JWT", replace(`eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?`, secret.Placeholder)},
	{"users and passwords in URLs", replace(`://[^/\s"'<>]+@`, "://"+secret.Placeholder+"@")},
	{"credentials after Bearer and Basic", func(text string) (string, int) { return scan(text, []string{"bearer", "basic"}, credential) }},
	{"values of settings, flags, headers and query parameters with names such as password, auth, token or secret", func(text string) (string, int) {
		return scan(text, []string{"pass", "pwd", "psk", "secret", "token", "credential", "cookie", "key", "auth", "sig"}, setting)
	}},
}

// replace is a rule that masks what an expression matches.
func replace(expression, by string) func(string) (string, int) {
	match := lazily(expression)
	return func(text string) (string, int) {
		n := 0
		return match().ReplaceAllStringFunc(text, func(string) string { n++; return by }), n
	}
}

// NewMasker returns a Masker for secret values and for everything that looks like one. What
// open contains, such as names of pods, is not masked as a value.
func NewMasker(values [][]byte, open func() []byte) *Masker {
	return &Masker{values: (*secret.Mask)(nil).With(values, open), counts: map[string]int{}}
}

// Text returns a text without secrets.
func (m *Masker) Text(text string) string {
	masked := m.values.Text(text)
	for _, r := range rules {
		var n int
		masked, n = r.mask(masked)
		m.counts[r.what] += n
	}
	m.total += strings.Count(masked, secret.Placeholder)
	return masked
}

// Masked returns what was masked, by rule, also the rules that masked nothing. What the texts
// had masked already are values.
func (m *Masker) Masked() []Masked {
	found := []Masked{{valuesRule, m.total}}
	for _, r := range rules {
		found = append(found, Masked{r.what, m.counts[r.what]})
		found[0].Count -= m.counts[r.what]
	}
	found[0].Count = max(0, found[0].Count)
	return found
}
