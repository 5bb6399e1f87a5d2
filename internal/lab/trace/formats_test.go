package trace

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stop is a call that failed.
func stop(t *testing.T) *Entry {
	tracer := &Tracer{}
	tracer.Names.sandbox(sandboxID, "default", "web")
	return add(t, tracer, testCall{
		method: runtimeService + "StopPodSandbox", request: &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandboxID},
		took: 412 * time.Millisecond, code: codes.DeadlineExceeded, status: "shim does not answer", caller: relay.Caller{PID: 812, Comm: "kubelet"},
	})
}

func TestDataOfFailedCall(t *testing.T) {
	text, err := json.MarshalIndent(stop(t).Data(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testutil.Golden(t, *update, "testdata/failedcall.json", string(text)+"\n")
}
