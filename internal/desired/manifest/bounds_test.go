package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// Small texts must not take hours, or a thousand times their size in memory.
func TestSourceLimits(t *testing.T) {
	const podHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: "
	request := func(cpu string) string {
		return podHead + "{containers: [{name: c, image: b, resources: {requests: {cpu: " + cpu + "}}}]}\n"
	}
	const quantity = "spec.containers[0].resources.requests[cpu]: expected a quantity"
	unknown := podHead + "{containers: [{name: c, image: b, env: [" + strings.Repeat("{q: 1},", 6000) + "]}]}\n---\n"
	for name, c := range map[string]struct{ text, want string }{
		"an exponent":            {request(`"1e999999999"`), quantity},
		"a negative exponent":    {request(`"1e-999999999"`), quantity},
		"an exponent with zeros": {request(`"1E+0000999999999"`), quantity},
		"an exponent in JSON":    {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"w"},"spec":{"containers":[{"name":"c","image":"b","resources":{"requests":{"cpu":1e999999999}}}]}}`, quantity},
		"digits":                 {request(`"` + strings.Repeat("9", 100_000) + `"`), quantity},
		"documents":              {strings.Repeat("---\na: 1\n", maxDocuments+1), fmt.Sprintf("more than %d documents", maxDocuments)},
		"documents in JSON":      {strings.Repeat(`{"a":1}`, maxDocuments+1), fmt.Sprintf("more than %d documents", maxDocuments)},
		"items of a list":        {"apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: List}\n", maxDocuments), fmt.Sprintf("more than %d documents", maxDocuments)},
		"values of a list":       {"a: [" + strings.Repeat("a,", maxNodes) + "]", fmt.Sprintf("more than %d values", maxNodes)},
		"values of an object":    {podHead + "{a: [" + strings.Repeat("a,", maxValues) + "]}", fmt.Sprintf("more than %d values in an object", maxValues)},
		"values of documents":    {strings.Repeat("a: ["+strings.Repeat("a,", maxNodes/9)+"]\n---\n", 10), fmt.Sprintf("more than %d values", maxNodes)},
		"problems":               {strings.Repeat(unknown, 3), fmt.Sprintf("more than %d problems", maxProblems)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(t.Context(), "bomb", []byte(c.text), LoadOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.200v, want %s", err, c.want)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	for _, cpu := range []string{"1", "0.5", "100m", "1e3", "1E-3", `"2e2"`, `"1e+001"`} {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: {containers: [{name: c, image: b, resources: {requests: {cpu: " + cpu + "}}}]}\n"
		if _, err := Parse(t.Context(), "file", []byte(text), LoadOptions{}); err != nil {
			t.Errorf("%s: %v", cpu, err)
		}
	}
}
