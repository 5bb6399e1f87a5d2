package monitoring

import (
	"bufio"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/metrics"
	"github.com/podctl/podctl/internal/serve/survey"
)

// exported are the names of the series that an observer exports.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	m := metrics.NewObserver(time.Now)
	m.SetStateFunc(func() metrics.State {
		report := survey.Count(survey.Findings{
			Findings:    orphan.Findings{},
			Terminating: []survey.Terminated{{Pod: &view.Pod{}, Noticed: time.Now()}},
		}, time.Now())
		return metrics.State{Survey: &survey.State{Report: report}, Calls: map[string]cri.Unanswered{}}
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	names := map[string]bool{"up": true}
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if name, _, _ := strings.Cut(lines.Text(), " "); name != "#" {
			name, _, _ = strings.Cut(name, "{")
			names[name] = true
		}
	}
	return names
}

// selected are the names of the series that a query selects.
func selected(t *testing.T, expr string) (names []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return nil
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			names = append(names, v.Name)
		}
		return nil
	})
	return names
}

func TestQueriesSelectMetricsThatExist(t *testing.T) {
	known := exported(t)
	check := func(where, expr string) {
		for _, name := range selected(t, expr) {
			if !known[name] {
				t.Errorf("%s: nothing exports %q", where, name)
			}
		}
	}
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			check(r.Record+r.Alert, r.Expr)
			if r.Record != "" {
				known[r.Record] = true
			}
		}
	}
	for _, row := range Rows() {
		for _, p := range row.Panels {
			for _, q := range p.Queries {
				check(p.Title, q.Expr)
			}
		}
	}
	check("$node", regexp.MustCompile(`^label_values\((.*), node\)$`).FindStringSubmatch(NodesQuery)[1])
	for _, expr := range queriesOfThePage(t) {
		check("docs/fleet.md", expr)
	}
	if slices.Contains(selected(t, `rate(a[5m]) + on (x) b{c="d"}`), "c") || len(selected(t, `a + b`)) != 2 {
		t.Error("the names of a query are not found")
	}
}

// queriesOfThePage are the queries of the table of questions.
func queriesOfThePage(t *testing.T) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| [^|]*\\? \\| `(.*)` \\|$").FindAllStringSubmatch(string(page), -1) {
		all = append(all, strings.ReplaceAll(m[1], `\|`, "|"))
	}
	if len(all) < 10 {
		t.Errorf("%d queries are in docs/fleet.md", len(all))
	}
	return all
}
