// Package monitoring tests examples/fleet/prometheus: its rules by promtool, its
// scrape configurations by Prometheus's own parser, that every query selects metrics
// which podctl exports, and the whole by a Prometheus that scrapes an observer of a
// simulated runtime. It generates what is generated there: the PrometheusRule from
// rules.yaml, and Grafana's dashboard from Dashboard, by the types of Grafana's own
// library.
//
// hack/prometheus provides Prometheus; without it the tests that run it are skipped.
package monitoring

//go:generate go test -run TestGenerated -update .
