package e2e

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// Nothing starts if anything is invalid: the runtime is not even asked.
func TestInvalidInputStartsNothing(t *testing.T) {
	good := pod("good", "true", never)
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).proxied()
		for name, c := range map[string]struct{ yaml, says string }{
			"two pods of one name":   {good + pod("good", "false", never), `pod "good"`},
			"an invalid one beside":  {good + strings.Replace(pod("bad", "true", never), "image:", "imgae:", 1), "imgae: unknown field"},
			"what is not YAML":       {good + "\n---\n{", "stdin:16: yaml:"},
			"a pod with bad numbers": {good + strings.Replace(pod("bad", "true", never), "name: c", "name: c\n    resources: {limits: {cpu: -1}}", 1), "limits"},
		} {
			out, errw, code := p.run(c.yaml, "-")
			if code != 1 || out != "" || !strings.Contains(errw, c.says) {
				t.Errorf("%s: exit %d\n%s%s", name, code, out, errw)
			}
			if calls := p.proxy.Take(); len(calls) > 0 {
				t.Errorf("%s: the runtime was asked: %v", name, calls)
			}
		}
	})
}
