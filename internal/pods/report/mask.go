package report

import (
	"regexp"
	"strings"

	"github.com/podctl/podctl/internal/pod/secret"
)

// Masker replaces what may be secret in texts, and counts it.
type Masker struct {
	values *secret.Mask
	rules  []rule
	counts map[string]int
}

// Masked is what was masked by one rule.
type Masked struct {
	What  string
	Count int
}

// valuesRule is the rule of known values.
const valuesRule = "values of Secret volumes, and of environment variables that come from a Secret or have a name such as PASSWORD or TOKEN, wherever they stand"

// rule masks what an expression matches.
type rule struct {
	what  string
	match *regexp.Regexp
	// replace returns a match, given with its groups, without what is secret.
	replace func(groups []string) string
}

// secretKey matches names of settings, headers and flags that hold secrets.
const secretKey = `(?:[\w.-]*(?:passw|passphrase|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key|key-data|authorization|signature)[\w.-]*|(?:[\w.-]*[_.-])?(?:auth|sig))`

// openKey matches those of them whose values are not secret: names, files, limits.
var openKey = regexp.MustCompile(`(?i)(?:names?|files?|paths?|dirs?|refs?|modes?|types?|ttl|seconds|limit|count|plugin|provider|enabled|uri|url|endpoint|namespace)$`)

// rules are applied in this order, after the values.
var rules = []rule{
	{"private keys (PEM)", regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`), all},
	{"tokens in the form of a JWT", regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?`), all},
	{"users and passwords in URLs", regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/\s"'<>@]+)@`), func(g []string) string { return g[1] + secret.Placeholder + "@" }},
	{"credentials after Bearer and Basic", regexp.MustCompile(`(?i)\b((?:bearer|basic)[ \t]+)([A-Za-z0-9+/._~=-]{6,})`), func(g []string) string {
		if len(g[2]) < 16 && word.MatchString(g[2]) {
			return g[0]
		}
		return g[1] + secret.Placeholder
	}},
	{settingsRule, regexp.MustCompile(`(?i)((` + secretKey + `)(?:\\*["'])?[ \t]*[:=][ \t]*)(\\+"[^"]*?\\+"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[ \t]*["'][^\]\n]*\])`), setting},
	{settingsRule, regexp.MustCompile(`(?i)((` + secretKey + `)=)([^\s"'\\,;&)}\]\[{]+)`), setting},
	{settingsRule, regexp.MustCompile(`(?im)(^[ \t]*(?:-[ \t]+)?(` + secretKey + `):[ \t]+)([^\s"'|>{\[#][^\n]*)`), setting},
	{settingsRule, regexp.MustCompile(`(?i)(--(` + secretKey + `)(?:[ \t]+|",[ \t\n]*"))([^\s"-][^\s"]*)`), setting},
}

// word matches what stands after Basic and Bearer in a sentence or a challenge.
var word = regexp.MustCompile(`^[A-Za-z][a-z]*=?$`)

// settingsRule is the rule of several forms of settings.
const settingsRule = "values of settings, flags, headers and query parameters with names such as password, auth, token or secret"

func all([]string) string { return secret.Placeholder }

// setting masks the value of a setting, the third group, whose name is the second.
func setting(g []string) string {
	value := strings.Trim(g[3], `\"' []`)
	switch {
	case openKey.MatchString(g[2]), value == "", value == "true", value == "false", value == "null", strings.Trim(value, "*") == "":
		return g[0]
	}
	quote := ""
	if end := strings.TrimLeft(g[3], `\`); strings.HasPrefix(end, `"`) || strings.HasPrefix(end, `'`) {
		quote = g[3][:len(g[3])-len(end)+1]
	}
	if strings.HasPrefix(g[3], "[") {
		return g[1] + `["` + secret.Placeholder + `"]`
	}
	return g[1] + quote + secret.Placeholder + quote
}

// NewMasker returns a Masker for secret values and for everything that looks like one. What
// open contains, such as names of pods, is not masked as a value.
func NewMasker(values [][]byte, open func() []byte) *Masker {
	return &Masker{values: (*secret.Mask)(nil).With(values, open), rules: rules, counts: map[string]int{}}
}

// Text returns a text without secrets.
func (m *Masker) Text(text string) string {
	masked := m.values.Text(text)
	if n := strings.Count(masked, secret.Placeholder) - strings.Count(text, secret.Placeholder); n > 0 {
		m.counts[valuesRule] += n
	}
	for _, r := range m.rules {
		masked = r.match.ReplaceAllStringFunc(masked, func(found string) string {
			replaced := r.replace(r.match.FindStringSubmatch(found))
			if replaced != found {
				m.counts[r.what]++
			}
			return replaced
		})
	}
	return masked
}

// Masked returns what was masked, by rule, also the rules that masked nothing.
func (m *Masker) Masked() []Masked {
	found := []Masked{{valuesRule, m.counts[valuesRule]}}
	for i, r := range m.rules {
		if i == 0 || r.what != m.rules[i-1].what {
			found = append(found, Masked{r.what, m.counts[r.what]})
		}
	}
	return found
}
