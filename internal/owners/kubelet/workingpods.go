package kubelet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/podctl/podctl/internal/sys/apiget"
)

// workingPods is the content of a kubelet's metric kubelet_working_pods. The zero value
// says nothing: the metrics could not be read, or do not have it yet.
type workingPods struct {
	// HousekeepingRan: its housekeeping has run, which it does only once it has read
	// all of its sources (syncLoopIteration in pkg/kubelet/kubelet.go). The pods that
	// it names after that are all that it has.
	HousekeepingRan bool
	// TerminatingUnlisted is how many pods it terminates, or cleans up after, that
	// none of its sources desires. It counts them every two seconds, and does not
	// name them.
	TerminatingUnlisted int
}

const (
	// metricsTimeout bounds the answer, maxMetrics its size in bytes.
	metricsTimeout = 2 * time.Second
	maxMetrics     = 16 << 20

	workingPodsMetric = "kubelet_working_pods"
)

// workingPods reads the metric at the kubelet's address.
func (o Options) workingPods(ctx context.Context) workingPods {
	client, err := o.client(o.Address())
	if err != nil {
		return workingPods{}
	}
	return workingPodsAt(ctx, client, o.Address())
}

// workingPods reads the metric, with the credentials that podctl finds.
func (p *Process) workingPods(ctx context.Context) (w workingPods) {
	if p.SettingsErr != nil {
		return workingPods{}
	}
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout) // of all servers
	defer cancel()
	_, err := p.ask(ctx, func(ctx context.Context, client *http.Client, url string) error {
		if w = workingPodsAt(ctx, client, url); !w.HousekeepingRan {
			return errNoMetric
		}
		return nil
	})
	if err != nil {
		return workingPods{}
	}
	return w
}

// errNoMetric: a server does not have the metric, or not yet.
var errNoMetric = errors.New("no " + workingPodsMetric)

func workingPodsAt(ctx context.Context, client *http.Client, url string) (w workingPods) {
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	err := apiget.Text(ctx, client, url+"/metrics", func(body io.Reader) (err error) {
		w, err = readWorkingPods(io.LimitReader(body, maxMetrics))
		return err
	})
	if err != nil {
		return workingPods{}
	}
	return w
}

// readWorkingPods reads the series of the metric, and skips all others.
func readWorkingPods(metrics io.Reader) (workingPods, error) {
	var series bytes.Buffer
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(workingPodsMetric+"{")) {
			series.Write(lines.Bytes())
			series.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return workingPods{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&series)
	if err != nil {
		return workingPods{}, err
	}
	var w workingPods
	for _, m := range families[workingPodsMetric].GetMetric() {
		w.HousekeepingRan = true
		if isUndesired(m) {
			w.TerminatingUnlisted += int(cmp.Or(m.GetGauge().GetValue(), m.GetUntyped().GetValue()))
		}
	}
	return w, nil
}

// isUndesired reports whether a series counts pods that no source desires: a source
// named them before, or only the runtime knows them.
func isUndesired(m *dto.Metric) bool {
	for _, label := range m.GetLabel() {
		if label.GetName() == "config" {
			return label.GetValue() == "orphan" || label.GetValue() == "runtime_only"
		}
	}
	return false
}
