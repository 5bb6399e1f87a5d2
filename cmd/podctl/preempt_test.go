package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A kubelet that says what it keeps back is asked; one that does not, as on
// its read-only port, leaves its defaults, and a warning.
func TestPreemptAsksTheKubeletWhatIsAllocatable(t *testing.T) {
	settings := `{"kubeletconfig":{"maxPods":3}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/pods":
			fmt.Fprint(w, `{"kind":"PodList","items":[]}`)
		case r.URL.Path == "/configz" && settings != "":
			fmt.Fprint(w, settings)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	w := &world{t: t, dir: t.TempDir()}
	dns := w.file("dns.yaml", needing("dns", "1m", criticalClass))
	ask := func() (out, errw string) {
		c := w.start(nil, "preempt", "--dry-run", "-f", dns, "--kubelet", server.URL)
		c.ends(0, 10*time.Second)
		return c.out.String(), c.errw.String()
	}
	out, errw := ask()
	expect(t, out, "kubelet "+server.URL+" has 3 pods, ")
	if errw != "" {
		t.Errorf("stderr: %s", errw)
	}
	settings = ""
	out, errw = ask()
	expect(t, out, "this machine has 110 pods, ")
	expect(t, errw, "warning: the kubelet's configuration cannot be read, using its defaults: ask the kubelet: ", "/configz: 404")
}
