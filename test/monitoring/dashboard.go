package monitoring

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Panel is one panel: its queries, by the legend of their series.
type Panel struct {
	Title, Description string
	// Unit is Grafana's: short, s, ops.
	Unit    string
	Queries []Query
	// Single: one number, which is red above 0 if Alarming.
	Single, Alarming bool
}

// Query is a query of a panel. $node is the selected node.
type Query struct{ Expr, Legend string }

// Row is a row of panels.
type Row struct {
	Title  string
	Panels []Panel
}

// Rows are the rows of the dashboard.
func Rows() []Row {
	return []Row{
		{"Cluster", []Panel{
			{Title: "Nodes", Unit: "short", Single: true, Description: "Nodes on which a podctl is scraped", Queries: []Query{{`cluster:podctl_nodes:count`, ""}}},
			{Title: "Nodes with an unhealthy PLEG", Unit: "short", Single: true, Alarming: true, Queries: []Query{{`cluster:podctl_nodes_unhealthy:count`, ""}}},
			{Title: "Orphans", Unit: "short", Single: true, Alarming: true, Queries: []Query{{`sum(cluster:podctl_orphans:sum)`, ""}}},
			{Title: "Stuck terminating pods", Unit: "short", Single: true, Alarming: true, Queries: []Query{{`sum(cluster:podctl_terminating_stuck:sum)`, ""}}},
		}},
		{"Orphans and terminating pods", []Panel{
			{Title: "Orphans by class", Unit: "short", Description: "A class that is not known to have none is absent", Queries: []Query{
				{`sum by (class) (node:podctl_orphans:max{node=~"$node"})`, "{{class}}"}}},
			{Title: "Stuck terminating pods by layer", Unit: "short", Queries: []Query{
				{`sum by (layer) (node:podctl_terminating_stuck:max{node=~"$node"})`, "{{layer}}"}}},
			{Title: "Nodes with orphans", Unit: "short", Queries: []Query{{`sum by (node) (node:podctl_orphans:max{node=~"$node"}) > 0`, "{{node}}"}}},
			{Title: "Oldest termination", Unit: "s", Queries: []Query{{`topk(10, node:podctl_terminating_oldest_seconds:max{node=~"$node"} > 0)`, "{{node}}"}}},
		}},
		{"Runtime and PLEG", []Panel{
			{Title: "Oldest PLEG call in flight", Unit: "s", Description: "The kubelet reports the node as not ready from 180 s on", Queries: []Query{
				{`topk(10, node:podctl_pleg_call_in_flight_seconds:max{node=~"$node"})`, "{{node}}"}}},
			{Title: "Oldest runtime call in flight, by operation", Unit: "s", Queries: []Query{
				{`max by (operation_type) (node:podctl_runtime_operation_in_flight_seconds:max{node=~"$node"}) > 0`, "{{operation_type}}"}}},
			{Title: "Runtime calls", Unit: "ops", Queries: []Query{
				{`sum by (operation_type) (rate(podctl_runtime_operations_total{node=~"$node"}[5m])) > 0`, "{{operation_type}}"}}},
			{Title: "Relist duration, 95th percentile", Unit: "s", Queries: []Query{
				{`histogram_quantile(0.95, sum by (node, le) (rate(podctl_pleg_relist_duration_seconds_bucket{node=~"$node"}[5m])))`, "{{node}}"}}},
		}},
		{"podctl", []Panel{
			{Title: "Changes without an event of the runtime", Unit: "short", Queries: []Query{
				{`sum by (node) (increase(podctl_pleg_unhinted_changes_total{node=~"$node"}[5m]))`, "{{node}}"}}},
			{Title: "Scans that are not complete", Unit: "short", Queries: []Query{{`count by (scan) (node:podctl_scan_complete:max{node=~"$node"} == 0)`, "{{scan}}"}}},
		}},
	}
}

// source is the data source that the dashboard's variable selects.
var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("$datasource")}

// Dashboard returns Grafana's model of the dashboard.
func Dashboard() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder("podctl").
		Uid("podctl-fleet").
		Description("Orphans, stuck terminations and hanging runtimes of a cluster, by podctl's observers and inspectors").
		Tags([]string{"podctl", "kubernetes"}).
		Refresh("30s").Time("now-3h", "now").Timezone("browser").
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(dashboard.NewQueryVariableBuilder("node").Label("Node").Datasource(source).
			Query(dashboard.StringOrMap{String: new(NodesQuery)}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).IncludeAll(true).AllValue(".*").Multi(true))
	for _, row := range Rows() {
		b = b.WithRow(dashboard.NewRowBuilder(row.Title))
		for _, p := range row.Panels {
			if p.Single {
				b = b.WithPanel(p.single())
			} else {
				b = b.WithPanel(p.graph())
			}
		}
	}
	return b.Build()
}

// NodesQuery lists the nodes for the variable $node.
const NodesQuery = `label_values(up{job="podctl"}, node)`

func (q Query) target() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(q.Expr).LegendFormat(q.Legend)
}

func (p Panel) single() *stat.PanelBuilder {
	steps := []dashboard.Threshold{{Color: "text"}}
	if p.Alarming {
		steps = []dashboard.Threshold{{Color: "green"}, {Color: "red", Value: new(1.0)}}
	}
	b := stat.NewPanelBuilder().Title(p.Title).Description(p.Description).Unit(p.Unit).Datasource(source).Height(4).Span(6).
		NoValue("not known").
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps))
	for _, q := range p.Queries {
		b = b.WithTarget(q.target().Instant())
	}
	return b
}

func (p Panel) graph() *timeseries.PanelBuilder {
	b := timeseries.NewPanelBuilder().Title(p.Title).Description(p.Description).Unit(p.Unit).Min(0).Datasource(source).Height(8).Span(12)
	if p.Unit == "short" {
		b = b.AxisSoftMax(1) // of a line at 0 the axis would end at 100
	}
	for _, q := range p.Queries {
		b = b.WithTarget(q.target().Range())
	}
	return b
}
