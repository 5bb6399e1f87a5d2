package kubelet

import (
	"fmt"
	"strings"
	"testing"
)

func TestNearIsReadFromCommandLineAndConfig(t *testing.T) {
	files := map[string]string{"/k/config.yaml": "readOnlyPort: 10256\nstaticPodPath: manifests\n"}
	read := func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no %s", path)
	}
	for _, c := range []struct {
		args string
		want Near
	}{
		{"kubelet", Near{ReadOnly: "http://127.0.0.1:10255"}},
		{"kubelet --config=/k/config.yaml", Near{ReadOnly: "http://127.0.0.1:10256", StaticPods: "/k/manifests"}},
		{"kubelet --config /k/config.yaml --read-only-port 10999 --pod-manifest-path /m --hostname-override n1", Near{ReadOnly: "http://127.0.0.1:10999", StaticPods: "/m", NodeName: "n1"}},
		{"/usr/bin/kubelet --kubeconfig=/k", Near{ReadOnly: "http://127.0.0.1:10255", Follows: true}},
		{"/usr/local/bin/k3s server", Near{ReadOnly: "http://127.0.0.1:10255", Follows: true}},
		{"kubelet --config=/none --read-only-port=0", Near{ReadOnly: "http://127.0.0.1:10255"}},
	} {
		if got := readNear(strings.Fields(c.args), read); *got != c.want {
			t.Errorf("%s: %+v, want %+v", c.args, *got, c.want)
		}
	}
}
