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

	"github.com/podctl/podctl/internal/apiget"
)

// Working is what a kubelet's metric kubelet_working_pods says of its pod
// workers. The zero value says nothing: the metrics could not be read, or do not
// have it yet.
type Working struct {
	// Housekept: its housekeeping has run, which it does only once it has read all
	// of its sources (syncLoopIteration in pkg/kubelet/kubelet.go). The pods that it
	// names after that are all that it has.
	Housekept bool
	// Undesired is how many pods it terminates, or cleans up after, that none of
	// its sources desires. It counts them every two seconds, and does not name them.
	Undesired int
}

const (
	// workingTimeout bounds the answer, maxMetrics its size in bytes.
	workingTimeout = 2 * time.Second
	maxMetrics     = 16 << 20

	workingPods = "kubelet_working_pods"
)

// Working reads the metric at the kubelet's address.
func (o Options) Working(ctx context.Context) Working {
	client, err := o.client(o.Address())
	if err != nil {
		return Working{}
	}
	return workingAt(ctx, client, o.Address())
}

// Working reads the metric, with the credentials that podctl finds.
func (n *Near) Working(ctx context.Context) (w Working) {
	if n.Err != nil {
		return Working{}
	}
	ctx, cancel := context.WithTimeout(ctx, workingTimeout) // of all servers
	defer cancel()
	_, err := n.ask(ctx, func(ctx context.Context, client *http.Client, url string) error {
		if w = workingAt(ctx, client, url); !w.Housekept {
			return errNoWorking
		}
		return nil
	})
	if err != nil {
		return Working{}
	}
	return w
}

// errNoWorking: a server does not have the metric, or not yet.
var errNoWorking = errors.New("no " + workingPods)

func workingAt(ctx context.Context, client *http.Client, url string) (w Working) {
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, workingTimeout)
	defer cancel()
	err := apiget.Text(ctx, client, url+"/metrics", func(body io.Reader) (err error) {
		w, err = readWorking(io.LimitReader(body, maxMetrics))
		return err
	})
	if err != nil {
		return Working{}
	}
	return w
}

// readWorking reads the series of the metric, and skips all others.
func readWorking(metrics io.Reader) (Working, error) {
	var series bytes.Buffer
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(workingPods+"{")) {
			series.Write(lines.Bytes())
			series.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return Working{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&series)
	if err != nil {
		return Working{}, err
	}
	var w Working
	for _, m := range families[workingPods].GetMetric() {
		w.Housekept = true
		if isUndesired(m) {
			w.Undesired += int(cmp.Or(m.GetGauge().GetValue(), m.GetUntyped().GetValue()))
		}
	}
	return w, nil
}

// isUndesired reports whether a series counts pods that no source desires: known
// from a source before, or from the runtime alone.
func isUndesired(m *dto.Metric) bool {
	for _, label := range m.GetLabel() {
		if label.GetName() == "config" {
			return label.GetValue() == "orphan" || label.GetValue() == "runtime_only"
		}
	}
	return false
}
