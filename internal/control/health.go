package control

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// healthz answers as the kubelet's does (k8s.io/apiserver/pkg/server/healthz):
// "ok", or with ?verbose, and whenever a check fails, a line for each check;
// ?exclude=NAME leaves one out. The reason of a failure is withheld where
// anybody may read it. /healthz/NAME is one check.
func healthz(mux *http.ServeMux, checks []Check, withhold bool) {
	checks = append([]Check{{Name: "ping", Run: func() error { return nil }}}, checks...)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		text, healthy := report(checks, r.URL.Query()["exclude"], withhold)
		plain(w)
		switch _, verbose := r.URL.Query()["verbose"]; {
		case !healthy:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, text+"healthz check failed\n")
		case verbose:
			_, _ = io.WriteString(w, text+"healthz check passed\n")
		default:
			_, _ = io.WriteString(w, "ok")
		}
	})
	for _, c := range checks {
		mux.HandleFunc("GET /healthz/"+c.Name, func(w http.ResponseWriter, _ *http.Request) {
			plain(w)
			if err := c.Run(); err != nil {
				w.WriteHeader(http.StatusInternalServerError)
				fmt.Fprintf(w, "%s: %v\n", c.Name, err)
				return
			}
			_, _ = io.WriteString(w, "ok")
		})
	}
}

// report runs the checks, a line for each.
func report(checks []Check, excluded []string, withhold bool) (text string, healthy bool) {
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

func plain(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
