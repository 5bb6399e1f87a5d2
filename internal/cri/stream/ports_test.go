package stream

import (
	"strings"
	"testing"
)

func TestParsePort(t *testing.T) {
	for text, want := range map[string]Port{
		"80": {Remote: 80}, "8080:80": {Local: 8080, Remote: 80}, ":80": {Any: true, Remote: 80}, "0:80": {Any: true, Remote: 80},
		"http": {Name: "http"}, "8080:http": {Local: 8080, Name: "http"}, ":http": {Any: true, Name: "http"},
		"80/tcp": {Remote: 80}, "8080:80/TCP": {Local: 8080, Remote: 80},
	} {
		if got, err := ParsePort(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParsePortInvalid(t *testing.T) {
	for text, want := range map[string]string{
		"53/udp": "UDP cannot be forwarded", "53:53/UDP": "UDP cannot be forwarded", "9/sctp": "SCTP cannot be forwarded",
		"": "not [LOCAL:]REMOTE", "80:": "not [LOCAL:]REMOTE", "1:2:3": "not [LOCAL:]REMOTE", "-1": "not [LOCAL:]REMOTE",
		"0": "the remote port is 0", "8080:0": "the remote port is 0", "65536": "larger than 65535", "99999:80": "the local port",
		"x:80": "the local port", "80/": "unknown protocol", "80/http": "unknown protocol",
	} {
		_, err := ParsePort(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
