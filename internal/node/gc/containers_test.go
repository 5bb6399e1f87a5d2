package gc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

var now = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// make1 makes a pod of words "NAME-ATTEMPT:STATE@MINUTES", newest first.
func make1(uid string, words string) *pod.Pod {
	p := &pod.Pod{UID: types.UID(uid)}
	for word := range strings.FieldsSeq(words) {
		var minutes int
		id, rest, _ := strings.Cut(word, ":")
		state, age, _ := strings.Cut(rest, "@")
		_, _ = fmt.Sscan(age, &minutes) // the words are this file's
		name, _, _ := strings.Cut(id, "-")
		states := map[string]pod.State{"up": pod.Running, "dead": pod.Exited, "made": pod.Created, "lost": pod.Unknown}
		p.Containers = append(p.Containers, &pod.Container{ID: uid + "/" + id, SandboxID: uid, Name: name, State: states[state], CreatedAt: now.Add(-time.Duration(minutes) * time.Minute)})
	}
	return p
}

func TestContainersToRemove(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy Policy
		pods   []*pod.Pod
		want   string
	}{
		{"one dead of a name is kept", Policy{0, 1, -1}, []*pod.Pod{make1("a", "c-2:up@1 c-1:dead@2 c-0:dead@3")}, "a/c-0"},
		{"oldest first", Policy{0, 0, -1}, []*pod.Pod{make1("a", "c-2:dead@1 c-1:dead@2 c-0:dead@3")}, "a/c-0 a/c-1 a/c-2"},
		{"names are apart", Policy{0, 1, -1}, []*pod.Pod{make1("a", "c-1:dead@1 d-1:dead@1 c-0:dead@2 d-0:dead@2")}, "a/c-0 a/d-0"},
		{"pods are apart", Policy{0, 1, -1}, []*pod.Pod{make1("a", "c-0:dead@1"), make1("b", "c-0:dead@1")}, ""},
		{"the young stay, and do not count", Policy{2 * time.Minute, 1, -1}, []*pod.Pod{make1("a", "c-2:dead@1 c-1:dead@3 c-0:dead@4")}, "a/c-0"},
		{"what was made and never ran, or is lost, is dead, too", Policy{0, 0, -1}, []*pod.Pod{make1("a", "c-1:made@1 c-0:lost@2")}, "a/c-0 a/c-1"},
		{"no limit", Policy{0, -1, -1}, []*pod.Pod{make1("a", "c-1:dead@1 c-0:dead@2")}, ""},
		{"in all: a share for each name", Policy{0, -1, 2}, []*pod.Pod{make1("a", "c-2:dead@1 c-1:dead@2 c-0:dead@3"), make1("b", "c-0:dead@9")}, "a/c-0 a/c-1"},
		{"in all: then the oldest", Policy{0, -1, 1}, []*pod.Pod{make1("a", "c-1:dead@2 c-0:dead@3"), make1("b", "c-0:dead@9")}, "a/c-0 b/c-0"},
		{"in all: enough room", Policy{0, -1, 2}, []*pod.Pod{make1("a", "c-1:dead@2 c-0:dead@3")}, ""},
	} {
		var got []string
		for _, gone := range ContainersToRemove(c.pods, c.policy, now) {
			got = append(got, gone.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestSandboxesToRemove(t *testing.T) {
	p := make1("old", "c-0:dead@1")
	for _, s := range []struct {
		id    string
		state pod.State
	}{{"new", pod.Exited}, {"up", pod.Running}, {"old", pod.Exited}, {"empty-2", pod.Exited}, {"empty-1", pod.Exited}} {
		p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: s.id, State: s.state})
	}
	alone := &pod.Pod{UID: "b", Sandboxes: []*pod.Sandbox{{ID: "b", State: pod.Exited}}}
	// Never a ready one, nor one with a container; the newest of an evicted pod only.
	for keep, want := range [][]string{{"empty-1", "empty-2", "new", "b"}, {"empty-1", "empty-2"}} {
		var got []string
		for _, s := range SandboxesToRemove([]*pod.Pod{p, alone}, keep) {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("keeping %d: %v, want %v", keep, got, want)
		}
	}
}
