package fleet

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/podctl/podctl/testkit/testutil"
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

// documentedRolesSuffice asserts that a user of the group sre may not use the plugin, and
// may with the roles that its page makes for that group.
func (c cluster) documentedRolesSuffice() {
	c.t.Helper()
	config := c.impersonating("alice", "sre")
	asked := func() (errw string, code int) {
		_, errw, code = c.plugin("--kubeconfig", config, "pods")
		return errw, code
	}
	if errw, code := asked(); code != 3 || !strings.Contains(errw, "list nodes") || !strings.Contains(errw, "403 Forbidden") || !strings.Contains(errw, "hint: kubectl auth can-i") {
		c.t.Errorf("without a role: exit code %d\n%s", code, errw)
	}
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		c.t.Fatal(err)
	}
	roles := regexp.MustCompile(`(?m)^    kubectl (.*\bcreate \w*role.*)$`).FindAllStringSubmatch(string(page), -1)
	for _, role := range roles {
		c.kubectl(strings.Fields(role[1])...)
	}
	testutil.Eventually(c.t, 3*time.Minute, "the roles of docs/fleet.md suffice", func() bool {
		_, code := asked()
		return code == 0
	}, func() string { errw, _ := asked(); return errw })
}

// impersonating writes a kubeconfig of a user and a group.
func (c cluster) impersonating(user, group string) string {
	c.t.Helper()
	var config struct {
		APIVersion     string           `json:"apiVersion"`
		Kind           string           `json:"kind"`
		Clusters       []map[string]any `json:"clusters"`
		Contexts       []map[string]any `json:"contexts"`
		CurrentContext string           `json:"current-context"`
		Users          []struct {
			Name string         `json:"name"`
			User map[string]any `json:"user"`
		} `json:"users"`
	}
	if err := json.Unmarshal([]byte(c.kubectl("config", "view", "--raw", "-o", "json")), &config); err != nil {
		c.t.Fatal(err)
	}
	config.Users[0].User["as"], config.Users[0].User["as-groups"] = user, []string{group}
	text, err := json.Marshal(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.write(user+".conf", string(text))
}
