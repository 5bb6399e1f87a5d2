package sim_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// TestFaults: an error of some calls, a hang, a delay, and an answer that is lost.
func TestFaults(t *testing.T) {
	bubble(t, sim.Options{Record: true}, func(t *testing.T, n *node) {
		version := func() error {
			_, err := n.rt.Version(t.Context(), &runtimeapi.VersionRequest{})
			return err
		}
		n.sim.Inject("method=Version nth=2-3 error=Unknown")
		for i, fails := range []bool{false, true, true, false} {
			if err := version(); (err != nil) != fails {
				t.Errorf("call %d: %v", i, err)
			}
		}
		release := n.sim.Inject("method=Version hang")
		done := make(chan error)
		go func() { done <- version() }()
		time.Sleep(time.Hour)
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := n.sim.Calls("Version")[4].Took; took != time.Hour {
			t.Errorf("the hanging call took %s", took)
		}
		release = n.sim.Inject("method=Version delay=1m")
		start := time.Now()
		if err := version(); err != nil || time.Since(start) != time.Minute {
			t.Errorf("delayed call: %v after %s", err, time.Since(start))
		}
		release()

		n.sim.Inject("method=RunPodSandbox pod=default/b lost=Unknown")
		n.runPod(sandboxConfig("a"))
		if _, err := n.rt.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: sandboxConfig("b")}); err == nil {
			t.Error("the answer was not lost")
		}
		resp, err := n.rt.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
		if err != nil || len(resp.Items) != 2 {
			t.Errorf("sandboxes %d, want both", len(resp.GetItems()))
		}
	})
}

// TestCallsAreRecorded with the names behind their ids.
func TestCallsAreRecorded(t *testing.T) {
	bubble(t, sim.Options{Record: true}, func(t *testing.T, n *node) {
		id := n.run("sleep 1")
		n.stop(id, 1)
		var got []string
		for _, c := range n.sim.Calls() {
			got = append(got, c.String())
		}
		want := "RunPodSandbox default/p, CreateContainer default/p/c, StartContainer default/p/c, StopContainer default/p/c"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("calls %s\nwant  %s", s, want)
		}
	})
}

// TestCrash: processes go on, clients find out, and all is there afterwards.
func TestCrash(t *testing.T) {
	bubble(t, sim.Options{}, func(t *testing.T, n *node) {
		id := n.run("sleep 3600")
		n.sim.Crash()
		if _, err := n.rt.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id}); status.Code(err) != codes.Unavailable {
			t.Errorf("while crashed: %v", err)
		}
		n.sim.Restart()
		time.Sleep(2 * time.Second)
		if st := n.status(id).State; st != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("after the crash: %s", st)
		}
	})
}
