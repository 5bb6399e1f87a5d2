package monitoring

import (
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestKustomizationObjects is `kubectl kustomize
// examples/fleet/prometheus`.
func TestKustomizationObjects(t *testing.T) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects.Resources() {
		names = append(names, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		if o.GetKind() != "ConfigMap" {
			continue
		}
		if data := o.GetDataMap(); o.GetLabels()["grafana_dashboard"] != "1" || data["dashboard.json"] != string(read(t, "dashboard.json")) {
			t.Errorf("labels %v, %d keys", o.GetLabels(), len(data))
		}
	}
	slices.Sort(names)
	if want := []string{"ConfigMap podctl-system/podctl-dashboard", "PodMonitor podctl-system/podctl", "PrometheusRule podctl-system/podctl"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
