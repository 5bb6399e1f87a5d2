package monitoring

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// pod is what discovery says of an observer's container port.
func pod(change map[string]string) labels.Labels {
	of := map[string]string{
		"__address__": "10.0.0.7:9911", "job": "podctl",
		"__meta_kubernetes_namespace": "podctl-system", "__meta_kubernetes_pod_name": "podctl-observer-x", "__meta_kubernetes_pod_phase": "Running",
		"__meta_kubernetes_pod_node_name": "n1", "__meta_kubernetes_pod_container_port_name": "metrics",
		"__meta_kubernetes_pod_label_app_kubernetes_io_name": "podctl", "__meta_kubernetes_pod_label_app_kubernetes_io_component": "observer",
	}
	maps.Copy(of, change)
	return labels.FromMap(of)
}

// scrapeConfig is what prometheus.yaml says of its job.
type scrapeConfig struct {
	JobName   string `yaml:"job_name"`
	Discovery []struct {
		Role       string
		Namespaces struct{ Names []string }
		Selectors  []struct{ Role, Label string }
	} `yaml:"kubernetes_sd_configs"`
	Relabel []*relabel.Config `yaml:"relabel_configs"`
}

// TestScrapeConfigurationSetsLabelsOfRules: the rules select job, node and component.
func TestScrapeConfigurationSetsLabelsOfRules(t *testing.T) {
	var c struct {
		Global    map[string]string `yaml:"global"`
		RuleFiles []string          `yaml:"rule_files"`
		Scrape    []scrapeConfig    `yaml:"scrape_configs"`
	}
	if err := yamlv2.UnmarshalStrict(read(t, "prometheus.yaml"), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Scrape) != 1 || c.Scrape[0].JobName != "podctl" || !slices.Equal(c.RuleFiles, []string{"rules.yaml"}) {
		t.Fatalf("%+v", c)
	}
	job := c.Scrape[0]
	if d := job.Discovery; len(d) != 1 || d[0].Role != "pod" || !slices.Equal(d[0].Namespaces.Names, []string{"podctl-system"}) ||
		len(d[0].Selectors) != 1 || d[0].Selectors[0].Role != "pod" || d[0].Selectors[0].Label != "app.kubernetes.io/name=podctl" {
		t.Errorf("%+v", d)
	}
	for _, r := range job.Relabel {
		if err := r.Validate(model.LegacyValidation); err != nil {
			t.Fatal(err)
		}
	}
	relabeled := func(change map[string]string) (labels.Labels, bool) {
		b := labels.NewBuilder(pod(change))
		kept := relabel.ProcessBuilder(b, job.Relabel...)
		return b.Labels(), kept
	}
	got, kept := relabeled(nil)
	if !kept || got.Get("node") != "n1" || got.Get("component") != "observer" || got.Get("pod") != "podctl-observer-x" {
		t.Errorf("kept %v, %s", kept, got)
	}
	for _, change := range []map[string]string{
		{"__meta_kubernetes_pod_container_port_name": "other"}, {"__meta_kubernetes_pod_phase": "Succeeded"},
	} {
		if got, kept := relabeled(change); kept {
			t.Errorf("scraped: %s", got)
		}
	}
}

// TestPromtoolAcceptsTheScrapeConfiguration checks it with a fixed target: Debian
// builds Prometheus without discovery in Kubernetes.
func TestPromtoolAcceptsTheScrapeConfiguration(t *testing.T) {
	promtool := tool(t, "promtool")
	var c map[string]any
	if err := yaml.Unmarshal(read(t, "prometheus.yaml"), &c); err != nil {
		t.Fatal(err)
	}
	job := c["scrape_configs"].([]any)[0].(map[string]any)
	delete(job, "kubernetes_sd_configs")
	job["static_configs"] = []any{map[string]any{"targets": []string{"127.0.0.1:9911"}}}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	for name, content := range map[string][]byte{"prometheus.yaml": text, "rules.yaml": read(t, "rules.yaml")} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(promtool, "check", "config", filepath.Join(at, "prometheus.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPodMonitorMatchesScrapeConfiguration holds the operator's form
// against the plain one.
func TestPodMonitorMatchesScrapeConfiguration(t *testing.T) {
	var m struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Selector            struct{ MatchLabels map[string]string }
			PodMetricsEndpoints []struct {
				Port, Interval string
				Relabelings    []struct {
					SourceLabels             []string
					TargetLabel, Replacement string
				}
			}
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(read(t, "podmonitor.yaml"), &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "PodMonitor" || m.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != "podctl" || len(m.Spec.PodMetricsEndpoints) != 1 {
		t.Fatalf("%+v", m)
	}
	endpoint := m.Spec.PodMetricsEndpoints[0]
	set := map[string]string{}
	for _, r := range endpoint.Relabelings {
		value := r.Replacement
		if value == "" {
			value = pod(nil).Get(r.SourceLabels[0])
		}
		set[r.TargetLabel] = value
	}
	if want := map[string]string{"job": "podctl", "node": "n1", "component": "observer"}; endpoint.Port != "metrics" || !maps.Equal(set, want) {
		t.Errorf("port %s, labels %v, want %v", endpoint.Port, set, want)
	}
}
