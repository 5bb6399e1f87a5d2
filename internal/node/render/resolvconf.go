package render

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// DNS is a parsed resolv.conf.
type DNS struct {
	Servers, Searches, Options []string
}

// ParseResolvConf reads the content of a resolv.conf as the kubelet does:
// nameservers add up, the last search line wins, an option wins over the
// earlier ones of its name (parseResolvConf in pkg/kubelet/network/dns/dns.go).
// Options come back sorted.
func ParseResolvConf(content []byte) (DNS, error) {
	var dns DNS
	options := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if len(fields) < 2 {
				return DNS{}, errors.New("parse resolv.conf: a nameserver line has no address")
			}
			dns.Servers = append(dns.Servers, fields[1])
		case "search":
			dns.Searches = nil
			for _, domain := range fields[1:] {
				if domain != "." {
					dns.Searches = append(dns.Searches, strings.TrimSuffix(domain, "."))
				}
			}
		case "options":
			for _, option := range fields[1:] {
				name, _, _ := strings.Cut(option, ":")
				options[name] = option
			}
		}
	}
	dns.Options = slices.Sorted(maps.Values(options))
	return dns, nil
}
