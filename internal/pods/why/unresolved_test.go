package why

import (
	"strings"
	"testing"
)

// TestNamesThatDoNotResolve has what programs write.
func TestNamesThatDoNotResolve(t *testing.T) {
	for text, want := range map[string]struct{ name, next string }{
		"dial tcp: lookup db on 169.254.20.10:53: no such host":                                 {"db", "podctl services"},
		"dial tcp: lookup db.shop.svc.cluster.local on [::1]:53: server misbehaving":            {"db.shop.svc.cluster.local", "podctl services"},
		"curl: (6) Could not resolve host: api.example.org":                                     {"api.example.org", "getent hosts api.example.org"},
		"wget: bad address 'db'":                                                                {"db", "podctl services"},
		"wget: unable to resolve host address ‘db’":                                             {"db", "podctl services"},
		"Error: getaddrinfo ENOTFOUND redis-cart":                                               {"redis-cart", "podctl services"},
		"Error: getaddrinfo EAI_AGAIN redis.shop.svc":                                           {"redis.shop.svc", "podctl services"},
		"java.net.UnknownHostException: kafka: Name or service not known":                       {"kafka", "podctl services"},
		`psql: error: could not translate host name "db" to address: Name or service not known`: {"db", "podctl services"},
		`nginx: [emerg] host not found in upstream "web:8080" in /etc/nginx/nginx.conf:3`:       {"web", "podctl services"},
		"ping: db: Temporary failure in name resolution":                                        {"db", "podctl services"},
		"php_network_getaddresses: getaddrinfo for db failed: Name or service not known":        {"db", "podctl services"},
		"socket.gaierror: [Errno -2] Name or service not known":                                 {"", "podctl logs POD/CONTAINER"},
	} {
		got := Explain(text, "")
		if len(got) != 1 || got[0].Hint != want.next || got[0].Layer != LayerApplication || want.name != "" && !strings.HasPrefix(got[0].Meaning, "the name "+want.name+" does not resolve") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{"write: bad address", "failed to pull image: lookup registry.example: no such host", "mount: Bad address"} {
		if got := Explain(text, ""); len(got) > 0 && got[0].unresolved {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
