package fleet

import (
	"strings"
)

// mayReadOnly asserts what the API server lets the service accounts do: it answers for
// the kubelet, which asks it.
func (c cluster) mayReadOnly() {
	c.t.Helper()
	may := func(account string, request ...string) bool {
		out, errw, code := c.do("kubectl", append([]string{"auth", "can-i", "--as=system:serviceaccount:podctl-system:" + account}, request...)...)
		answer := strings.TrimSpace(out)
		if answer != "yes" && answer != "no" {
			c.t.Errorf("can-i %v: exit code %d\n%s%s", request, code, out, errw)
		}
		return answer == "yes"
	}
	for _, subresource := range []string{"pods", "configz", "metrics"} {
		if request := []string{"get", "nodes", "--subresource=" + subresource}; !may("podctl-inspector", request...) || may("podctl-observer", request...) {
			c.t.Errorf("get nodes/%s: the inspector may not, or the observer may", subresource)
		}
	}
	for _, request := range [][]string{
		{"get", "nodes", "--subresource=proxy"}, {"create", "nodes", "--subresource=proxy"}, {"get", "nodes", "--subresource=log"}, {"get", "nodes"},
		{"create", "nodes", "--subresource=pods"}, {"create", "pods", "--subresource=exec", "-A"}, {"list", "pods", "-A"}, {"get", "secrets", "-A"},
	} {
		for _, account := range []string{"podctl-inspector", "podctl-observer"} {
			if may(account, request...) {
				c.t.Errorf("%s may %v", account, request)
			}
		}
	}
}
