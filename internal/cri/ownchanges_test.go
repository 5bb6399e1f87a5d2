package cri

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// inNode runs a test with the client of a node that runs a pod, and with lists from after that.
func inNode(t *testing.T, f func(t *testing.T, r *sim.Runtime, c *Client, sandbox string, now lists)) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		c = c.ForNode()
		sandbox, _ := runPod(t, c, "web", "sleep", "3600")
		f(t, r, c, sandbox, listNow(t, c))
	})
}

func listNow(t *testing.T, c *Client) (l lists) {
	t.Helper()
	var err error
	if l.sandboxes, _, err = c.listSandboxes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.containers, _, err = c.listContainers(t.Context(), l.sandboxes); err != nil {
		t.Fatal(err)
	}
	return l
}

// becomes fails the test unless withOwnChanges makes want of the lists.
func (l lists) becomes(t *testing.T, c *Client, want lists) {
	t.Helper()
	got, same, err := c.withOwnChanges(t.Context(), c.changes.createdFor("", c.now()), l)
	diff := cmp.Diff(want, got, cmp.AllowUnexported(lists{}, sandboxEntry{}, containerEntry{}, identity{}),
		cmpopts.IgnoreFields(pod.Container{}, "Image")) // a status has the name that it was resolved to
	if err != nil || diff != "" {
		t.Errorf("(-want +got), %v:\n%s", err, diff)
	}
	if same != (len(l.sandboxes) == len(want.sandboxes)) {
		t.Errorf("same: %v", same)
	}
}

func TestCreatedPodIsAddedToStaleList(t *testing.T) {
	inNode(t, func(t *testing.T, _ *sim.Runtime, c *Client, _ string, now lists) {
		lists{}.becomes(t, c, now)
		now.becomes(t, c, now)
	})
}

func TestPodRemovedByOthersIsNotAddedToList(t *testing.T) {
	inNode(t, func(t *testing.T, r *sim.Runtime, c *Client, sandbox string, _ lists) {
		if _, err := r.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox}); err != nil {
			t.Fatal(err)
		}
		lists{}.becomes(t, c, lists{})
		if left := c.changes.createdFor("", c.now()); len(left) > 0 {
			t.Errorf("asked for again: %v", left)
		}
	})
}

func TestListIsAnErrorWhileStatusOfCreatedPodIsEmpty(t *testing.T) {
	for _, rule := range []string{"method=ContainerStatus unset=status", "method=PodSandboxStatus unset=status"} {
		inNode(t, func(t *testing.T, r *sim.Runtime, c *Client, _ string, _ lists) {
			r.Inject(rule)
			if _, _, err := c.withOwnChanges(t.Context(), c.changes.createdFor("", c.now()), lists{}); err == nil {
				t.Errorf("%s: the list counts", rule)
			}
		})
	}
}

func TestListIsAnErrorWhileStatusOfCreatedPodFails(t *testing.T) {
	inNode(t, func(t *testing.T, r *sim.Runtime, c *Client, _ string, _ lists) {
		r.Inject("method=ContainerStatus error=Unknown")
		if _, _, err := c.withOwnChanges(t.Context(), c.changes.createdFor("", c.now()), lists{}); err == nil {
			t.Error("the list counts")
		}
		time.Sleep(changeTTL + time.Second)
		lists{}.becomes(t, c, lists{}) // by now it is not there, whatever its status says
	})
}

func TestRemovedPodIsDroppedFromStaleList(t *testing.T) {
	inNode(t, func(t *testing.T, _ *sim.Runtime, c *Client, sandbox string, old lists) {
		if err := c.RemovePodSandbox(t.Context(), sandbox); err != nil {
			t.Fatal(err)
		}
		old.becomes(t, c, listNow(t, c))
		time.Sleep(changeTTL + time.Second)
		old.becomes(t, c, old) // by now it is the runtime that has it still
	})
}
