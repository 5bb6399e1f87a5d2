package apiget

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPodListLimits(t *testing.T) {
	items := 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"PodList","items":[`+strings.Repeat("{},", items-1)+`{}]}`)
	}))
	defer server.Close()
	if pods, err := PodList(t.Context(), server.Client(), server.URL+"/pods"); err != nil || len(pods) != items {
		t.Errorf("got %d pods, %v", len(pods), err)
	}
	for n, want := range map[int]string{MaxPods + 1: "more than 10000 pods", maxValues: "more than 1000000 values"} {
		items = n
		pods, err := PodList(t.Context(), server.Client(), server.URL+"/pods")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %d pods, %v, want %s", len(pods), err, want)
		}
	}
}
