package cri

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What the runtime adds is JSON in a string, one level up, as crictl prints it.
func TestRawStatusJoinsTheStatusAndWhatTheRuntimeAdds(t *testing.T) {
	got, err := rawStatus(&runtimeapi.ContainerStatus{Id: "c1", ExitCode: 3, State: runtimeapi.ContainerState_CONTAINER_EXITED, CreatedAt: 1700000000123456789, FinishedAt: -1},
		map[string]string{"info": `{"pid": 7}`, "note": "text"})
	if err != nil {
		t.Fatal(err)
	}
	status := got["status"].(map[string]any)
	for key, want := range map[string]any{
		"id": "c1", "exitCode": float64(3), "state": "CONTAINER_EXITED", "createdAt": "2023-11-14T22:13:20.123456789Z", "startedAt": "", "finishedAt": "",
	} {
		if status[key] != want {
			t.Errorf("%s is %v, want %v", key, status[key], want)
		}
	}
	delete(got, "status")
	if diff := cmp.Diff(map[string]any{"info": map[string]any{"pid": float64(7)}, "note": "text"}, got); diff != "" {
		t.Error(diff)
	}
}
