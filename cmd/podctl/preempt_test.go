package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A failed pod holds what it requests until nothing of it runs, as at admission.
func TestPreemptCountsAFailedPodUntilItHasTerminated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		late := strings.Replace(needing("late", "500m", "activeDeadlineSeconds: 5"), "terminationGracePeriodSeconds: 2", "terminationGracePeriodSeconds: 60", 1)
		c := w.run(late + needing("web", "200m", ""))
		dns := w.write("dns.yaml", needing("dns", "1m", criticalClass))
		used := func() string { return w.ran(0, time.Second, "preempt", "--dry-run", "-f", dns) }
		time.Sleep(10 * time.Second)
		if got := fields(w.ran(0, time.Second, "pods"), "default/late"); !strings.Contains(got, " terminating ") {
			t.Errorf("its deadline is over, and it does not terminate: %q", got)
		}
		expect(t, used(), "used 2 pods, 700m cpu")
		time.Sleep(2 * time.Minute)
		expect(t, used(), "used 1 pod, 200m cpu")
		c.interrupt()
		c.ends(130, time.Minute)
	})
}
