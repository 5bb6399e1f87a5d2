package podsync

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// fakeTerminationLogs notes which files of termination messages are kept.
type fakeTerminationLogs struct {
	Volumes
	kept []string
}

func (*fakeTerminationLogs) TerminationLog(types.UID, string) (string, error) { return "/new", nil }

func (f *fakeTerminationLogs) RemoveTerminationLogs(_ types.UID, _ string, kept map[string]bool) error {
	f.kept = slices.Sorted(maps.Keys(kept))
	return errors.New("one is busy")
}

// A failure to remove old files keeps no container from starting.
func TestTerminationLogKeepsThoseOfContainersThatExist(t *testing.T) {
	volumes := &fakeTerminationLogs{}
	s := &Syncer{opt: Options{Volumes: volumes, Log: slog.New(slog.DiscardHandler)}}
	st := &pod.Status{Containers: []*pod.ContainerStatus{
		{Name: "c", Attempt: 2, Mounts: []pod.Mount{{HostPath: "/files/2"}, {HostPath: "/data"}}},
		{Name: "c", Attempt: 1, Mounts: []pod.Mount{{HostPath: "/files/1"}}},
	}}
	path := s.terminationLog(&v1.Pod{}, &v1.Container{Name: "c", TerminationMessagePath: "/dev/termination-log"}, st)
	if path != "/new" || !slices.Equal(volumes.kept, []string{"/data", "/files/1", "/files/2"}) {
		t.Errorf("%s, kept %v", path, volumes.kept)
	}
}
