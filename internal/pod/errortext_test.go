package pod

import (
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		`failed to destroy network for sandbox "` + id + `": plugin type="bridge" failed (delete)`:           `failed to destroy network for sandbox "0123456789abc": plugin type="bridge" failed (delete)`,
		`failed to resolve \"a:1\": rpc error: code = NotFound desc = rpc error: code = Unknown desc = gone`: `failed to resolve \"a:1\": gone`,
		`container ` + id + `: not found, see \"` + id + `\"`:                                                `container 0123456789abc: not found, see \"0123456789abc\"`,
		`open /run/task/k8s.io/` + id + `/log.json: no such file`:                                            `open /run/task/k8s.io/` + id + `/log.json: no such file`,
		`blob sha256:` + id + ` of a@sha256:` + id:                                                           `blob sha256:` + id + ` of a@sha256:` + id,
		id + id: id + id,
	} {
		if got := ErrorText(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
