package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// What is allocatable comes from the kubelet; where that is not known, as with the
// read-only port of one elsewhere, preempt refuses to judge.
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
	ask := func(code int, more ...string) (out, errw string) {
		c := w.start(nil, append([]string{"preempt", "--dry-run", "-f", dns, "--kubelet", server.URL}, more...)...)
		c.ends(code, 10*time.Second)
		return c.out.String(), c.errw.String()
	}
	out, errw := ask(0)
	expect(t, out, "kubelet "+server.URL+" has 3 pods, ")
	if errw != "" {
		t.Errorf("stderr: %s", errw)
	}
	settings = ""
	out, errw = ask(1)
	expect(t, errw, "podctl: preempt: what is allocatable at kubelet "+server.URL+" is not known: ", "/configz: 404", "hint: pass --allocatable")
	if out != "" {
		t.Errorf("stdout: %s", out)
	}
	out, _ = ask(0, "--allocatable", "cpu=4,memory=8Gi,pods=9")
	expect(t, out, "--allocatable has 9 pods, 4 cpu, 8Gi memory")
}
