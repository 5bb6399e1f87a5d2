package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// A scan lists the kubelet's pods and does not watch them: a pod that the kubelet
// terminates because none of its sources has it any more is gone from the list of its
// PodsAPI at once. Its watch sends nothing of that until the pod has ended, which a
// termination that is stuck never does.
func TestKubeletWatchMissesTerminatingPod(t *testing.T) {
	k := startKubelet(t, "node-1", "--hostname-override=node-1")
	k.adds("slow", "quick")
	conn, err := grpc.NewClient("unix://"+filepath.Join(k.kubelet.Root, "pods-api/pods-api.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	k.kubelet.WriteStatic(t, "slow.yaml", pod("slow", ignores, "terminationGracePeriodSeconds: 300"))
	k.container("slow")
	events, err := podsv1alpha1.NewPodsClient(conn).WatchPods(t.Context(), &podsv1alpha1.WatchPodsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	watched := watchedPods{}
	for event := podsv1alpha1.EventType_UNSPECIFIED; event != podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE; {
		event = watched.receive(t, events)
	}
	for _, name := range []string{"slow", "log"} {
		k.kubelet.RemoveStatic(t, name+".yaml")
	}
	for watched["log-node-1"] != nil { // both are removed by then
		watched.receive(t, events)
	}
	if p := watched["slow-node-1"]; p == nil || p.DeletionTimestamp != nil || p.Status.Phase != v1.PodRunning {
		t.Errorf("the watch shows a pod that terminates as %+v: podctl could watch instead of listing at each scan", p)
	}
	if out := k.does("terminating", "-o", "name"); !strings.Contains(out, "slow-node-1") {
		t.Errorf("podctl terminating lists %q, want slow-node-1", out)
	}
}

// watchedPods are the pods that a watch has shown, by name.
type watchedPods map[string]*v1.Pod

func (w watchedPods) receive(t *testing.T, events grpc.ServerStreamingClient[podsv1alpha1.WatchPodsEvent]) podsv1alpha1.EventType {
	t.Helper()
	e, err := events.Recv()
	if err != nil {
		t.Fatal(err)
	}
	p := &v1.Pod{}
	if err := p.Unmarshal(e.Pod); err != nil {
		t.Fatal(err)
	}
	switch e.Type {
	case podsv1alpha1.EventType_DELETED:
		delete(w, p.Name)
	case podsv1alpha1.EventType_ADDED, podsv1alpha1.EventType_MODIFIED:
		w[p.Name] = p
	}
	return e.Type
}
