package control

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// handleChecks serves the checks as the kubelet does
// (k8s.io/apiserver/pkg/server/healthz): /healthz for liveness, /readyz for
// readiness. Each answers "ok", or with ?verbose, and whenever a check fails, one
// line per check; ?exclude=NAME leaves one out, and PATH/NAME is a single check.
// /healthz leaves out checks that depend on the runtime, because a restart of
// podctl does not repair the runtime; they can be read one by one. The reason of
// a failure is withheld on a public port.
func handleChecks(mux *http.ServeMux, checks []Check, withhold bool) {
	checks = append([]Check{{Name: "ping", Run: func() error { return nil }}}, checks...)
	live := slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c.Runtime })
	for path, aggregated := range map[string][]Check{"healthz": live, "readyz": checks} {
		mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, r *http.Request) {
			text, healthy := runChecks(aggregated, r.URL.Query()["exclude"], withhold)
			setPlainText(w)
			switch _, verbose := r.URL.Query()["verbose"]; {
			case !healthy:
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, text+path+" check failed\n")
			case verbose:
				_, _ = io.WriteString(w, text+path+" check passed\n")
			default:
				_, _ = io.WriteString(w, "ok")
			}
		})
		for _, c := range checks {
			mux.HandleFunc("GET /"+path+"/"+c.Name, func(w http.ResponseWriter, _ *http.Request) { writeCheck(w, c, withhold) })
		}
	}
}

// writeCheck runs one check and answers with it.
func writeCheck(w http.ResponseWriter, c Check, withhold bool) {
	setPlainText(w)
	err := c.Run()
	switch {
	case err == nil:
		_, _ = io.WriteString(w, "ok")
	case withhold:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s: reason withheld\n", c.Name)
	default:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s: %v\n", c.Name, err)
	}
}

// runChecks runs the checks and returns one line for each.
func runChecks(checks []Check, excluded []string, withhold bool) (text string, healthy bool) {
	var b strings.Builder
	healthy = true
	for _, c := range checks {
		if slices.Contains(excluded, c.Name) {
			fmt.Fprintf(&b, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		switch err := c.Run(); {
		case err == nil:
			fmt.Fprintf(&b, "[+]%s ok\n", c.Name)
			continue
		case withhold:
			fmt.Fprintf(&b, "[-]%s failed: reason withheld\n", c.Name)
		default:
			fmt.Fprintf(&b, "[-]%s failed: %v\n", c.Name, err)
		}
		healthy = false
	}
	return b.String(), healthy
}

func setPlainText(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
