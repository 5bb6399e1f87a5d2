package secret

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

var (
	// anywhere are parts of names of settings, headers, flags, query parameters and variables
	// that hold secrets; keys what makes a key one; last is their last word.
	anywhere = []string{
		"passw", "passphrase", "passcode", "pwd", "secret", "token", "cred", "cookie", "signature", "salt", "jwt", "hmac", "authorization", "key-data",
		"connectionstring", "connection_string", "webhookurl", "webhook_url",
	}
	keys = []string{"api", "access", "private", "account", "encryption", "signing", "shared", "master", "ssh", "deploy", "license", "client", "webhook"}
	last = []string{"auth", "auths", "sig", "pass", "pw", "psk", "pat", "dsn", "otp"}
	// inVariable are parts of names of variables of an environment, beside those: what is set
	// there is seldom a reference.
	inVariable = []string{"auth", "private", "pass"}
	// noPassword are the words with pass that are no password.
	noPassword = []string{"bypass", "pass-through", "pass_through", "passthrough", "passive", "passed", "passing", "compass", "passage", "passenger", "passport"}
	// open are the ends of names whose values are not secret: names, files, limits.
	open = []string{
		"name", "names", "file", "files", "path", "paths", "dir", "dirs", "ref", "refs", "mode", "modes", "type", "types", "ttl", "seconds", "limit", "count", "plugin", "provider",
		"enabled", "uri", "url", "endpoint", "namespace", "policy", "secrets",
	}
	// openVariable matches names of variables that runtimes and the kubelet set.
	openVariable = lazyregexp.New(`^(?:PATH|HOME|HOSTNAME|USER|TERM|LANG|TZ|KUBERNETES_.*|[A-Z0-9_]+_(?:SERVICE_(?:HOST|PORT.*)|PORT_\d+_(?:TCP|UDP).*))$`)
)

// words have a part of each name that secretKey matches, in lower case.
var words = []string{"pass", "pwd", "psk", "secret", "token", "cred", "cookie", "key", "auth", "sig", "dsn", "pw", "pat", "otp", "salt", "jwt", "hmac", "connection", "webhook"}

// isSecretKey reports whether a setting of the name holds a secret.
func isSecretKey(name string) bool {
	if len(name) > maxKey || !hasWord(name, words) {
		return false
	}
	lower := withoutOthers(name)
	isOpen := slices.ContainsFunc(open, func(end string) bool { return strings.HasSuffix(lower, end) }) && !strings.Contains(lower, "webhook")
	return !isOpen && hasSecret(name, lower)
}

// isSecretVariable reports whether an environment variable of the name usually holds a secret.
func isSecretVariable(name string) bool {
	lower := withoutOthers(name[:min(len(name), maxKey)])
	return hasSecret(name, lower) || hasWord(lower, inVariable) || lastWord(name, lower) == "key"
}

// withoutOthers returns the name in lower case, without the words with pass that are no password.
func withoutOthers(name string) string {
	lower := strings.ToLower(name)
	if strings.Contains(lower, "pass") {
		for _, word := range noPassword {
			lower = strings.ReplaceAll(lower, word, "")
		}
	}
	return lower
}

func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(name, word) || strings.Contains(strings.ToLower(name), word)
	})
}

// hasSecret reports whether a name, which is also given in lower case, is that of a secret.
func hasSecret(name, lower string) bool {
	if hasWord(lower, anywhere) || slices.Contains(last, lastWord(name, lower)) || strings.HasSuffix(lower, "pass") {
		return true
	}
	for rest := lower; ; {
		before, after, found := strings.Cut(rest, "key")
		if !found {
			break
		}
		before = strings.TrimRight(before, "_-")
		if slices.ContainsFunc(keys, func(word string) bool { return strings.HasSuffix(before, word) }) {
			return true
		}
		rest = after
	}
	return strings.HasPrefix(name, "PASS") && strings.HasPrefix(lower, "pass") || strings.Contains(name, "_PASS") && strings.Contains(lower, "_pass")
}

// lastWord returns the last word of a name, in lower case and without digits after it: pw of
// DB_PW2, of db-pw and of dbPw.
func lastWord(name, lower string) string {
	if len(name) != len(lower) { // a word was left out
		name = lower
	}
	lower = strings.TrimRight(strings.TrimRight(lower, "0123456789"), "_-.")
	begin := len(lower)
	for begin > 0 && strings.IndexByte("_-.", lower[begin-1]) < 0 {
		begin--
		if begin > 0 && name[begin] < 'a' && name[begin-1] >= 'a' {
			break // a hump
		}
	}
	return lower[begin:]
}

// Names reports whether an environment variable holds a secret.
type Names func(name string) bool

// NamesOf selects the variables whose names are those of secrets, and those that the spec
// of the container, nil if it is not known, takes from a Secret. Which variables a whole
// Secret becomes is not in the spec: then all but those with a value of their own are
// masked.
func NamesOf(c *v1.Container) Names {
	return func(name string) bool {
		if isSecretVariable(name) || c == nil {
			return isSecretVariable(name)
		}
		i := slices.IndexFunc(c.Env, func(e v1.EnvVar) bool { return e.Name == name })
		if i >= 0 {
			from := c.Env[i].ValueFrom
			return from != nil && from.SecretKeyRef != nil
		}
		return slices.ContainsFunc(c.EnvFrom, func(e v1.EnvFromSource) bool { return e.SecretRef != nil })
	}
}

// scan calls find where one of the words begins, whatever its case; the words are lower case.
// find returns the range of a secret value in the text, an empty one if there is none. scan
// returns the text without these values, and their number.
func scan(text string, words []string, find func(text string, at, end int) (from, to int)) (string, int) {
	var begins [256][]string
	for _, w := range words {
		begins[w[0]] = append(begins[w[0]], w)
		if upper := w[0] - 'a' + 'A'; w[0] >= 'a' && w[0] <= 'z' {
			begins[upper] = append(begins[upper], w)
		}
	}
	var out strings.Builder
	done, n := 0, 0
	for at := 0; at < len(text); at++ {
		for _, w := range begins[text[at]] {
			if at+len(w) > len(text) || text[at+1]|0x20 != w[1] && text[at+1] != w[1] || !strings.EqualFold(text[at:at+len(w)], w) {
				continue
			}
			from, to := find(text, at, at+len(w))
			if from < done || from >= to || text[from:to] == Placeholder {
				continue
			}
			out.WriteString(text[done:from])
			out.WriteString(Placeholder)
			done, at = to, to-1
			n++
			break
		}
	}
	if n == 0 {
		return text, 0
	}
	out.WriteString(text[done:])
	return out.String(), n
}
