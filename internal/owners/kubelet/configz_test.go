package kubelet_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/kubelet"
)

const configz = `{"kubeletconfig":{"maxPods":110,"podsPerCore":10,"kubeReserved":{"cpu":"100m","memory":"1Gi"},
"systemReserved":{"cpu":"150m"},"evictionHard":{"memory.available":"200Mi","nodefs.available":"10%","imagefs.available":"x"}}}`

func TestReservation(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/configz" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, configz)
	}))
	defer server.Close()
	o := kubelet.Options{URL: server.URL + "/"}
	r, err := o.Reservation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reserved := r.Reserved()
	if cpu, memory := reserved[v1.ResourceCPU], reserved[v1.ResourceMemory]; cpu.String() != "250m" || memory.String() != "1Gi" {
		t.Errorf("reserved %v", reserved)
	}
	for signal, want := range map[string]int64{"memory.available": 200 << 20, "nodefs.available": 100, "imagefs.available": 0, "pid.available": 0} {
		if got := r.Eviction(signal, 1000); got != want {
			t.Errorf("%s keeps %d free, want %d", signal, got, want)
		}
	}
	if r.Pods(4) != 40 || r.Pods(100) != 110 {
		t.Errorf("%d pods on 4 cpus, %d on 100", r.Pods(4), r.Pods(100))
	}
	if !o.Local() || (kubelet.Options{URL: "https://node2:10250"}).Local() {
		t.Error("a kubelet is local if its address is a loopback address")
	}
	if _, err := (kubelet.Options{URL: server.URL + "/else"}).Reservation(t.Context()); err == nil {
		t.Error("no error from a server without /configz")
	}
}
