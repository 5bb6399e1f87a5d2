package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Prometheus is a server that scrapes one observer every second.
type Prometheus struct {
	URL  string
	stop func()
}

// StackOptions say what a Prometheus scrapes.
type StackOptions struct {
	// Binary is prometheus, Dir an empty directory for its files.
	Binary, Dir string
	// Rules is the content of its file of rules.
	Rules string
	// Target is the observer's HOST:PORT, Node its label.
	Target, Node string
}

// StartPrometheus starts a server; the caller stops it.
func StartPrometheus(o StackOptions) (*Prometheus, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`{"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
		"scrape_configs": [{"job_name": "podctl", "static_configs": [{"targets": [%q], "labels": {"node": %q, "component": "inspector"}}]}]}`, o.Target, o.Node)
	for name, text := range map[string]string{"rules.yaml": o.Rules, "prometheus.yaml": config} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	stop, err := Start(o.Dir, nil, o.Binary, "--config.file="+filepath.Join(o.Dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(o.Dir, "data"), "--web.listen-address="+address)
	if err != nil {
		return nil, err
	}
	return &Prometheus{URL: "http://" + address, stop: stop}, nil
}

// Stop ends the server.
func (p *Prometheus) Stop() { p.stop() }

// Start starts a program, whose output goes to a file of its name in dir, and returns
// what interrupts it and waits for it.
func Start(dir string, env []string, program string, args ...string) (stop func(), err error) {
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		_ = log.Close()
		return nil, err
	}
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // its log has what it says
		_ = log.Close()
	}, nil
}

// FreeAddress returns a local address at which nothing listens.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// ShortenRules returns rules for a test that cannot wait: every "for" is one second,
// and a call of the PLEG counts as hanging from three seconds on, not from 30, in
// PodctlRuntimeHangs. What the rules' own durations do, promtool tests.
func ShortenRules(rules string) (string, error) {
	const hangs = "expr: node:podctl_pleg_call_in_flight_seconds:max > 30\n"
	if strings.Count(rules, hangs) != 1 {
		return "", fmt.Errorf("the rules do not have %q once", hangs)
	}
	rules = strings.Replace(rules, hangs, strings.Replace(hangs, "30", "3", 1), 1)
	return regexp.MustCompile(`(?m)^( +for:) .*$`).ReplaceAllString(rules, "$1 1s"), nil
}

// get decodes the data of an answer of the API.
func (p *Prometheus) get(ctx context.Context, path string, query url.Values, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/v1/"+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// Firing returns the alerts that fire, as NAME or NAME/LABEL with the class, layer or
// operation that it is about.
func (p *Prometheus) Firing(ctx context.Context) ([]string, error) {
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	if err := p.get(ctx, "alerts", nil, &data); err != nil {
		return nil, err
	}
	var firing []string
	for _, a := range data.Alerts {
		if a.State != "firing" {
			continue
		}
		name := a.Labels["alertname"]
		if detail := a.Labels["class"] + a.Labels["layer"] + a.Labels["operation_type"] + a.Labels["scan"]; detail != "" {
			name += "/" + detail
		}
		firing = append(firing, name)
	}
	slices.Sort(firing)
	return firing, nil
}

// BadRules returns the rules that could not be evaluated, and how many were.
func (p *Prometheus) BadRules(ctx context.Context) (bad []string, good int, err error) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	err = p.get(ctx, "rules", nil, &data)
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			switch r.Health {
			case "ok":
				good++
			case "err":
				bad = append(bad, r.Name+": "+r.LastError)
			}
		}
	}
	return bad, good, err
}

// Series is a series of a range query: its labels and values by time.
type Series struct {
	Metric map[string]string
	Values []Value
}

// Value is a value at a time.
type Value struct {
	At    time.Time
	Value float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(b []byte) error {
	var seconds float64
	var text string
	if err := json.Unmarshal(b, &[]any{&seconds, &text}); err != nil {
		return err
	}
	v.At = time.UnixMilli(int64(seconds * 1000))
	_, err := fmt.Sscan(text, &v.Value)
	return err
}

// Range evaluates a query of the dashboard, for every node, from a time until now.
func (p *Prometheus) Range(ctx context.Context, expr string, from time.Time, step time.Duration) ([]Series, error) {
	var data struct{ Result []Series }
	err := p.get(ctx, "query_range", url.Values{
		"query": {strings.ReplaceAll(expr, "$node", ".*")}, "start": {from.Format(time.RFC3339Nano)}, "end": {time.Now().Format(time.RFC3339Nano)}, "step": {step.String()},
	}, &data)
	return data.Result, err
}
