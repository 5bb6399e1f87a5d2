package monitoring

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite what is generated in examples/fleet/prometheus")

// dir is the directory that is tested.
const dir = "../../examples/fleet/prometheus"

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// current compares a generated file, or writes it with -update.
func current(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(read(t, name)) != want {
		t.Errorf("%s is out of date: run make docs", name)
	}
}

// rules is a file of rules, and the spec of a PrometheusRule.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func readRules(t *testing.T) (r rules) {
	t.Helper()
	if err := yaml.UnmarshalStrict(read(t, "rules.yaml"), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGeneratedPrometheusRuleIsCurrent(t *testing.T) {
	object := map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "podctl", "namespace": "podctl-system", "labels": map[string]string{"app.kubernetes.io/name": "podctl"}},
		"spec":     readRules(t),
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	current(t, "prometheusrule.yaml", fmt.Sprintf("# Generated from rules.yaml by make docs.\n%s", text))
}

// TestGeneratedDashboardIsCurrent also reads the file back by Grafana's schema, which
// refuses unknown fields and missing ones.
func TestGeneratedDashboardIsCurrent(t *testing.T) {
	model, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(model, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	current(t, "dashboard.json", string(text)+"\n")
	plugins.RegisterDefaultPlugins()
	var back dashboard.Dashboard
	if err := back.UnmarshalJSONStrict(text); err != nil {
		t.Fatalf("it does not follow the schema: %v", err)
	}
	if err := back.Validate(); err != nil {
		t.Errorf("it is not valid: %v", err)
	}
	panels := 0
	for _, p := range back.Panels {
		if p.RowPanel != nil {
			panels += len(p.RowPanel.Panels)
		} else if p.Panel != nil {
			panels++
		}
	}
	want := 0
	for _, r := range Rows() {
		want += len(r.Panels)
	}
	if panels != want {
		t.Errorf("%d panels, want %d", panels, want)
	}
	if err := back.UnmarshalJSONStrict([]byte(`{"title": "x", "panells": []}`)); err == nil {
		t.Error("an unknown field is accepted: the schema does not check anything")
	}
}
