package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// mute is a runtime that answers no status, or nothing at all.
type mute struct {
	Runtime
	hangs bool
}

var errMute = errors.New("broken")

func (m mute) PartialStatus(ctx context.Context, _ *pod.Pod) (*pod.Status, error) {
	if m.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, errMute
}

func (m mute) ContainerDetails(ctx context.Context, _ string) (cri.Details, error) {
	if m.hangs {
		<-ctx.Done()
		return cri.Details{}, ctx.Err()
	}
	return cri.Details{PID: 7}, nil
}

func (m mute) SandboxDetails(ctx context.Context, id string) (cri.Details, error) {
	return m.ContainerDetails(ctx, id)
}

func (mute) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	return cri.ContainerProcess{}, errMute
}

func (mute) ImageStatus(_ context.Context, image string) (*pod.Image, error) {
	if image == "registry.test/held:1" {
		return &pod.Image{ID: "sha256:1"}, nil
	}
	return nil, nil
}

func (mute) Manifest(context.Context, string) (raw, owner string, err error) { return "", "", errMute }

// The cgroup of a pod, podctl's or a kubelet's, is shown with its numbers under both drivers, also
// beside a directory that the other driver left.
func TestCgroupInEveryLayout(t *testing.T) {
	for _, l := range cgrouptest.Layouts() {
		root := cgrouptest.Dir(t)
		p := cgrouptest.Pod{UID: "8f73c1d2-0000-4000-8000-000000000001", Class: "burstable", Processes: map[string][]int{id("a"): {7}}}
		l.Write(t, root, p)
		stale := l
		stale.Systemd = !l.Systemd
		stale.Write(t, root, cgrouptest.Pod{UID: p.UID, Class: p.Class})
		c := &Reader{Runtime: mute{}, Cgroups: root, Now: time.Now}
		f := c.Read(t.Context(), &Pod{Metadata: Metadata{UID: types.UID(p.UID), Namespace: "default", Name: "web"}, Runtime: &pod.Pod{
			UID: types.UID(p.UID), Sandboxes: []*pod.Sandbox{{ID: id("5"), State: pod.Running, HasManifest: true}},
			Containers: []*pod.Container{{ID: id("a"), Name: "app", State: pod.Running}},
		}})
		if g := f.Cgroup; g == nil || g.Path != l.Group(p) || g.Memory == nil || *g.Memory != cgrouptest.Memory || g.OOMKills == nil || *g.OOMKills != cgrouptest.OOMKills {
			t.Errorf("%s: %+v", l, g)
		}
	}
}

func TestUnreadableLayerLeavesTheOthers(t *testing.T) {
	for name, hangs := range map[string]bool{"fails": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				c := &Reader{Runtime: mute{hangs: hangs}, Cgroups: t.TempDir(), Now: time.Now}
				f := c.Read(t.Context(), &Pod{Metadata: Metadata{UID: "u", Namespace: "default", Name: "web"}, Runtime: &pod.Pod{
					Sandboxes:  []*pod.Sandbox{{ID: id("5"), State: pod.Running, HasManifest: true}},
					Containers: []*pod.Container{{ID: id("a"), Name: "app", State: pod.Running}},
				}})
				if took := time.Since(begin); took > layerTimeout {
					t.Errorf("took %s", took)
				}
				var layers []string
				for _, u := range f.Unread {
					layers = append(layers, u.Layer)
				}
				want := []string{"cgroups", "spec", "status"}
				if hangs {
					want = []string{"cgroups", "details", "spec", "status"}
				}
				if !slices.Equal(layers, want) {
					t.Errorf("unread %v, want %v", f.Unread, want)
				}
				if f.Status != "Running" || f.Sandbox == nil || f.Sandbox.State != Ready {
					t.Errorf("%+v", f)
				}
				if len(f.Containers) != 1 || f.Containers[0].State != Running {
					t.Errorf("what the runtime lists is lost with its status: %+v", f.Containers)
				}
			})
		})
	}
}

func TestKubeletIsAskedOnce(t *testing.T) {
	deleted := metav1.NewTime(time.Now().Add(30 * time.Second))
	for name, c := range map[string]struct {
		answer kubelet.Answer
		status string
	}{
		"named, and being deleted": {kubelet.Answer{Pods: []*v1.Pod{{
			ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "default", Name: "web", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: new(int64(30))},
			Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
				Name: "app", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			}}},
		}}}, "Terminating"},
		"not named by a complete answer":      {kubelet.Answer{}, "Terminating"},
		"not named by an answer that is less": {kubelet.Answer{Incomplete: errMute}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			c.answer.PID = -1
			answers := &owners.Answers{Kubelet: owners.Kubelet{Asked: true, Process: &kubelet.Process{PID: -1}, Answer: c.answer, Unsettled: c.answer.Incomplete}}
			pods := Merge([]*pod.Pod{{
				UID: "u", Namespace: "default", Name: "web",
				Sandboxes:  []*pod.Sandbox{{ID: id("5"), State: pod.Running, Source: "api"}},
				Containers: []*pod.Container{{ID: id("a"), Name: "app", State: pod.Running}},
			}}, answers)
			r := &Reader{Runtime: mute{}, Cgroups: t.TempDir(), Asker: owners.Asker{Procs: proc.FS(t.TempDir())}, Now: time.Now}
			_ = r.SetKubelet(&answers.Kubelet)
			f := r.Read(t.Context(), pods[0])
			if f.Status != c.status || f.IsEnding() != (c.status == "Terminating") {
				t.Errorf("status %s, want %s; ending %+v; unread %v", f.Status, c.status, f.Ending, f.Unread)
			}
		})
	}
}

func id(letter string) string { return strings.Repeat(letter, 64) }
