package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/owner"
)

// otherHost is what another podctl shows.
type otherHost struct {
	control.Host
	pod   v1.Pod
	phase string
}

func (h *otherHost) Pods() *v1.PodList { return &v1.PodList{Items: []v1.Pod{h.pod}} }
func (h *otherHost) Workers() []control.Worker {
	return []control.Worker{{UID: h.pod.UID, Phase: h.phase}}
}
func (h *otherHost) Checks() []control.Check { return nil }

func withHostPort(uid, name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}}}
	return p
}

func TestHostPortOfAnotherPodctlIsInUseUntilItsPodHasTerminated(t *testing.T) {
	run, err := os.MkdirTemp("", "run") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	theirs := filepath.Join(run, "other-runtime")
	locks, err := owner.Open(theirs, "run-b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	l, err := control.Listen(theirs, "run-b")
	if err != nil {
		t.Fatal(err)
	}
	other := &otherHost{pod: *withHostPort("b", "web"), phase: "syncing"}
	server := control.Serve(l, control.Handler(other, &control.Broadcaster{}, http.NotFoundHandler()), nil)
	t.Cleanup(func() { _ = server.Close() })

	h := &hostPorts{runDir: run, own: control.Path(filepath.Join(run, "runtime"), "agent")}
	mine := withHostPort("a", "api")
	for phase, taken := range map[string]bool{"syncing": true, "terminating": true, "finished": false, "unknown": false} {
		other.phase = phase
		release, err := h.hold(t.Context(), mine)
		if (err != nil) != taken || taken && !strings.Contains(err.Error(), "8080/TCP") {
			t.Errorf("%s: %v", phase, err)
		}
		if err == nil {
			release()
		}
	}
}
