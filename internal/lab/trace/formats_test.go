package trace

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/pod/testutil"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stop is the call of the formats: one that failed.
func stop(t *testing.T) *Entry {
	tracer := &Tracer{}
	tracer.Names.sandbox(sandboxID, "default", "web")
	e := add(t, tracer, testCall{
		method: runtimeService + "StopPodSandbox", request: &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandboxID},
		took: 412 * time.Millisecond, code: codes.DeadlineExceeded, status: "shim does not answer", caller: relay.Caller{PID: 812, Comm: "kubelet"},
	})
	e.ID = 7
	return e
}

func TestFormats(t *testing.T) {
	for name, data := range map[string]any{
		"json": stop(t).Data(), "chrome": stop(t).Chrome(), "otlp": OTLP([]Span{stop(t).Span(0xabcd)}, "unix:///run/cri.sock"),
	} {
		text, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, *update, "testdata/"+name+".json", string(text)+"\n")
	}
}
