package secret

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

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

// rules are applied in this order, after the values. Each takes time that is linear in the text:
// a place is looked at from only so far before and after it.
var rules = []rule{
	{"private keys (PEM, PuTTY, age)", replace(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)|Private-Lines: \d+(?:\r?\n[A-Za-z0-9+/=]+)*|AGE-SECRET-KEY-1[A-Z0-9]+`)},
	{"tokens in the form of a JWT", replace(`eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*`)},
	{"tokens with a prefix such as ghp_, glpat-, AKIA, xoxb- or sk-", func(text string) (string, int) { return scan(text, prefixes, token) }},
	{"users and passwords in URLs and DSNs", func(text string) (string, int) {
		return scan(text, []string{"://", "@tcp(", "@unix(", "jdbc:oracle:"}, userinfo)
	}},
	{"credentials after Bearer and Basic", func(text string) (string, int) { return scan(text, []string{"bearer", "basic"}, credential) }},
	{"passwords in the arguments of programs, such as mysql -p, curl -u, docker login -p", func(text string) (masked string, n int) {
		masked = text
		for range 4 { // of each command one is found
			var more int
			if masked, more = scan(masked, programs, argument); more == 0 {
				break
			}
			n += more
		}
		return masked, n
	}},
	{"values of settings, flags, headers and query parameters with names such as password, auth, token or secret", func(text string) (string, int) {
		return scan(text, words, setting)
	}},
}

// replace is a rule that masks what an expression matches. It begins with a literal: searching for
// anything else takes seconds.
func replace(expression string) func(string) (string, int) {
	match := lazyregexp.New(expression)
	return func(text string) (string, int) {
		if !strings.Contains(text, "-----BEGIN") && !strings.Contains(text, "eyJ") && !strings.Contains(text, "Private-Lines") && !strings.Contains(text, "AGE-SECRET") {
			return text, 0
		}
		n := 0
		return match().ReplaceAllStringFunc(text, func(string) string { n++; return Placeholder }), n
	}
}

// prefixes are those of tokens of well-known services, in lower case; shapes says what they are
// like.
var prefixes = func() (all []string) {
	for _, s := range shapes {
		if lower := strings.ToLower(s.prefix); !slices.Contains(all, lower) {
			all = append(all, lower)
		}
	}
	return all
}()

// shapes are tokens: a prefix, and how many letters, digits and marks follow at least. digit: one
// of them is a digit, which no word has.
var shapes = []struct {
	prefix string
	least  int
	digit  bool
}{
	{"ghp_", 20, false}, {"gho_", 20, false}, {"ghu_", 20, false}, {"ghs_", 20, false}, {"ghr_", 20, false}, {"github_pat_", 20, false},
	{"glpat-", 16, false}, {"gldt-", 16, false}, {"glrt-", 16, false}, {"glcbt-", 16, false}, {"glptt-", 16, false}, {"glsa_", 20, false},
	{"AKIA", 16, false}, {"ASIA", 16, false}, {"AIza", 30, false}, {"ya29.", 20, false}, {"GOCSPX-", 16, false}, {"EAACEdEose0cBA", 10, false},
	{"xoxa-", 8, false}, {"xoxb-", 8, false}, {"xoxc-", 8, false}, {"xoxd-", 8, false}, {"xoxe-", 8, false}, {"xoxe.", 8, false}, {"xoxo-", 8, false}, {"xoxp-", 8, false}, {"xoxr-", 8, false}, {"xoxs-", 8, false}, {"xapp-", 8, false},
	{"sk-", 16, true}, {"sk_live_", 10, false}, {"sk_test_", 10, false}, {"rk_live_", 10, false}, {"rk_test_", 10, false}, {"whsec_", 16, false},
	{"npm_", 30, false}, {"pypi-", 30, false}, {"dckr_pat_", 16, false}, {"dckr_oat_", 16, false}, {"hvs.", 16, false}, {"hvb.", 16, false}, {"hvr.", 16, false},
	{"SG.", 30, false}, {"shpat_", 20, false}, {"shpss_", 20, false}, {"dop_v1_", 20, false}, {"doo_v1_", 20, false}, {"hf_", 20, true}, {"lin_api_", 20, false}, {"tskey-", 12, true},
	{"NRAK-", 20, false}, {"PMAK-", 20, false}, {"dapi", 32, true}, {"hooks.slack.com/services/", 16, false}, {"atlassian_", 20, true}, {"ATATT3x", 20, false}, {"rpa_", 30, true}, {"sbp_", 30, true}, {"pscale_tkn_", 20, false},
}

// token finds a token by its prefix.
func token(text string, at, end int) (from, to int) {
	if at > 0 && (isLetter(text[at-1]) || isDigit(text[at-1])) && !strings.HasPrefix(text[at:], "hooks.") && !afterEscape(text, at) {
		return 0, 0
	}
	for _, s := range shapes {
		if !strings.HasPrefix(text[at:], s.prefix) {
			continue
		}
		from, ofURL, digit := at, strings.HasSuffix(s.prefix, "/"), false
		if ofURL {
			from = end
		}
		to = until(text, end, func(c byte) bool { digit = digit || isDigit(c); return !isKey(c) && (c != '/' || !ofURL) })
		if to-end >= s.least && (digit || !s.digit) {
			return from, to
		}
	}
	return 0, 0
}

// afterEscape reports whether an escape of JSON, such as \n or \u0026, ends at a place.
func afterEscape(text string, at int) bool {
	return at > 1 && text[at-2] == '\\' && isLetter(text[at-1]) || at > 5 && text[at-6] == '\\' && text[at-5] == 'u'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// maxUserinfo bounds the user and the password of a URL, in bytes.
const maxUserinfo = 256

// userinfo finds the user and the password in a URL, and in the DSNs of Go's MySQL driver,
// USER:PASSWORD@tcp(HOST), and of Oracle, USER/PASSWORD@HOST.
func userinfo(text string, at, end int) (from, to int) {
	space := func(c byte) bool { return c <= ' ' || strings.IndexByte("\"'<>`", c) >= 0 }
	if text[at] == '@' {
		for from = at; from > 0 && at-from < maxUserinfo && !space(text[from-1]) && text[from-1] != '='; from-- {
		}
		if colon := strings.IndexByte(text[from:at], ':'); colon < 0 {
			return 0, 0
		}
		return from, at
	}
	url := text[end:min(len(text), end+maxUserinfo)]
	url = url[:until(url, 0, space)]
	authority := url[:until(url, 0, func(c byte) bool { return c == '/' || c == '?' || c == '#' })]
	if text[at] == 'j' || text[at] == 'J' { // jdbc:oracle:thin:USER/PASSWORD@HOST
		authority = url
	}
	if last := strings.LastIndexByte(authority, '@'); last > 0 {
		return end, end + last
	}
	// A password with a / is not valid, and written all the same. A port is a number.
	_, port, found := strings.Cut(authority, ":")
	if last := strings.LastIndexByte(url, '@'); found && last > 0 && strings.ContainsFunc(port, func(r rune) bool { return r > '9' || r < '0' }) {
		return end, end + last
	}
	return 0, 0
}
