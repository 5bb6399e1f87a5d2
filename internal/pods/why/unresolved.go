package why

import (
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

const (
	// unresolvedName is what the row means of a name that the program of a container looked up.
	unresolvedName = "a name does not resolve"
	listServices   = "podctl services"
)

// lookedUp is how programs write the name that does not resolve: Go, curl, busybox, Node.js, Java, libpq, nginx, PHP,
// wget, ping.
var lookedUp = lazyregexp.New(`(?i)\blookup ([\w.-]+?)(?: on [\w.:\[\]-]+)?: |could not resolve host: ([\w.-]+)|bad address '([\w.-]+)'|(?:enotfound|eai_again) ([\w.-]+)|unknownhostexception: ([\w.-]+)` +
	`|host name "([\w.-]+)"|host not found in upstream "([\w.-]+)|getaddrinfo for ([\w.-]+) failed|resolve host address [^\w]*([\w.-]+)|unknown host:? '?([\w.-]+)|([\w.-]+): (?:name or service not known|temporary failure in name resolution)`)

// unresolved returns what an error of the row unresolvedName means, and the next command: that about Services
// where the name may be one's.
func unresolved(text string) (means, next string) {
	name := ""
	if m := lookedUp().FindStringSubmatch(text[:min(len(text), maxPhrase)]); m != nil {
		name = strings.Trim(strings.Join(m[1:], ""), ".") // one of them matches
	}
	switch first, rest, _ := strings.Cut(name, "."); {
	case name == "" || !pod.IsShellSafe(name) || name == "address" || name == "not":
		return unresolvedName, containerLogs
	case rest == "", strings.Contains("."+rest+".", ".svc."):
		return "the name " + name + " does not resolve: no Service of the pod's namespace has it, or DNS does not answer", listServices
	default:
		return "the name " + name + " does not resolve: neither a Service, such as " + first + ", nor a host has it, or DNS does not answer", "getent hosts " + name
	}
}

// addUnresolved adds to a verdict about the container of the position what its last line says of a name.
func (v *facts) addUnresolved(f Verdict) Verdict {
	c := v.position.container
	if c == nil || len(f.Evidence) == 0 {
		return f
	}
	said := Explain(c.LastLine(), "")
	if len(said) == 0 || !said[0].unresolved {
		return f
	}
	f.Evidence = append(f.Evidence, Evidence{Kind: KindMeaning, Message: said[0].Meaning})
	if !said[0].needsName() {
		f.Next = append([]string{said[0].Hint}, f.Next...)
	}
	return f
}
