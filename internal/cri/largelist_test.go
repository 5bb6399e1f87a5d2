package cri

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// large is how much there is of a list: pods that have ended and pods that run, and the
// size of their entries in the lists of sandboxes and containers, in MiB.
type large struct{ dead, running, sandbox, container int }

func (l large) run(t *testing.T, c *Client) {
	t.Helper()
	filler := func(mib int) map[string]string {
		return map[string]string{"filler": strings.Repeat("x", mib<<20)}
	}
	for i := range l.dead + l.running {
		name, argv := fmt.Sprintf("dead-%d", i), []string{"true"}
		if i >= l.dead {
			name, argv = fmt.Sprintf("runs-%d", i), []string{"sleep", "3600"}
		}
		sandbox, container := sandboxConfig(name, 0), containerConfig(name, "c", 0, argv...)
		sandbox.Annotations, container.Annotations = filler(l.sandbox), filler(l.container)
		sb := must(t)(c.RunPodSandbox(t.Context(), sandbox, ""))
		id := must(t)(c.CreateContainer(t.Context(), sb, container, sandbox))
		if err := c.StartContainer(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if i >= l.dead {
			must(t)(c.CreateContainer(t.Context(), sb, containerConfig(name, "waits", 0), sandbox))
		} else if err := c.StopPodSandbox(t.Context(), sb); err != nil {
			t.Fatal(err)
		}
	}
}

// shown is what a list of pods shows.
func shown(pods []*pod.Pod) string {
	var all []string
	for _, p := range pods {
		text := p.Name
		for _, s := range p.Sandboxes {
			text += " " + s.State.String()
		}
		for _, ct := range p.Containers {
			text += " " + ct.Name + ":" + ct.State.String()
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestListsBeyondOneMessage(t *testing.T) {
	for _, c := range []struct {
		name    string
		held    large
		streams bool
		want    string // calls of two lists
		said    string
	}{
		{"one message", large{2, 1, 1, 1}, true, "2 ListContainers, 2 ListPodSandbox", ""},
		{"streams", large{16, 1, 1, 1}, true, "1 ListContainers, 1 ListPodSandbox, 2 StreamContainers, 2 StreamPodSandboxes", "16 dead sandboxes of 17"},
		{"by state", large{9, 9, 1, 1}, false, "11 ListContainers, 5 ListPodSandbox, 1 StreamContainers, 1 StreamPodSandboxes", "9 dead sandboxes of 18"},
		{"by sandbox", large{16, 1, 0, 1}, false, "45 ListContainers, 2 ListPodSandbox, 1 StreamContainers", "16 dead containers of 18"},
	} {
		bubble(t, func(t *testing.T, r *sim.Runtime, client *Client) {
			var said []error
			client.conn.onLargeList = func(err error) { said = append(said, err) }
			if !c.streams {
				withoutStreams(r)
			}
			c.held.run(t, client)
			r.ClearCalls()
			var want []string
			for i := range c.held.dead + c.held.running {
				if i < c.held.dead {
					want = append(want, fmt.Sprintf("dead-%d exited c:exited", i))
				} else {
					want = append(want, fmt.Sprintf("runs-%d running waits:created c:running", i))
				}
			}
			slices.Sort(want)
			for range 2 {
				pods, err := client.ListPods(t.Context())
				if got := shown(pods); err != nil || got != strings.Join(want, ", ") {
					t.Errorf("%s: %s, %v, want %q", c.name, got, err, want)
				}
			}
			if got := counted(r.Calls()); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			switch {
			case c.said == "" && len(said) == 0:
			case c.said == "" || len(said) != 1 || !strings.Contains(said[0].Error(), c.said) || !strings.Contains(hint.Of(said[0]), "podctl rm POD"):
				t.Errorf("%s: said %q, want %q", c.name, said, c.said)
			}
		})
	}
}

func withoutStreams(r *sim.Runtime) {
	for _, method := range []string{"StreamPodSandboxes", "StreamContainers", "StreamImages", "StreamContainerStats", "StreamPodSandboxStats"} {
		r.Inject("method=" + method + " error=Unimplemented message=\"unknown method\"")
	}
}

// counted is how many calls of each method there are.
func counted(calls []sim.Call) string {
	count := map[string]int{}
	for _, c := range calls {
		count[c.Method]++
	}
	var all []string
	for _, method := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d %s", count[method], method))
	}
	return strings.Join(all, ", ")
}

func TestListThatNoFilterMakesSmallEnoughSaysWhatToDo(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, client *Client) {
		withoutStreams(r)
		large{16, 0, 1, 0}.run(t, client)
		_, err := client.ListPods(t.Context())
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "list sandboxes: the runtime holds so many sandboxes that") || !strings.Contains(hint.Of(err), "crictl rmp") {
			t.Errorf("%v, hint %q", err, hint.Of(err))
		}
	})
}

// A list that fits again is read at once again.
func TestListThatShrinksIsReadAtOnceAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, client *Client) {
		large{16, 1, 1, 1}.run(t, client)
		pods, err := client.ListPods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods[1:] {
			if err := client.RemovePodSandbox(t.Context(), p.Sandboxes[0].ID); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			r.ClearCalls()
			if pods, err := client.ListPods(t.Context()); err != nil || len(pods) != 1 {
				t.Fatal(pods, err)
			}
		}
		if got, want := counted(r.Calls()), "1 ListContainers, 1 ListPodSandbox"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Images and statistics are streamed, too, and nothing divides them for a runtime that does
// not stream.
func TestImagesAndStatisticsBeyondOneMessage(t *testing.T) {
	const pods = 17
	lists := []struct {
		what, list, stream string
		read               func(context.Context, *Client) (int, error)
	}{
		{"list images", "ListImages", "StreamImages", func(ctx context.Context, c *Client) (int, error) {
			all, err := c.ListImages(ctx)
			return len(all), err
		}},
		{"read statistics of containers", "ListContainerStats", "StreamContainerStats", func(ctx context.Context, c *Client) (int, error) {
			all, err := c.ContainerStats(ctx)
			return len(all), err
		}},
		{"read statistics of sandboxes", "ListPodSandboxStats", "StreamPodSandboxStats", func(ctx context.Context, c *Client) (int, error) {
			all, err := c.SandboxStats(ctx)
			return len(all), err
		}},
	}
	for _, streams := range []bool{true, false} {
		bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
			if !streams {
				withoutStreams(r)
			}
			filler := strings.Repeat("x", 1<<20)
			for i := range pods {
				name := fmt.Sprintf("pod-%d", i)
				sandbox, container := sandboxConfig(name, 0), containerConfig(name, "c", 0, "sleep", "3600")
				sandbox.Labels["filler"], container.Labels["filler"], container.Image.Image = filler, filler, name
				r.SetImage(name, sim.ImageScript{User: filler})
				sb := must(t)(c.RunPodSandbox(t.Context(), sandbox, ""))
				if err := c.StartContainer(t.Context(), must(t)(c.CreateContainer(t.Context(), sb, container, sandbox))); err != nil {
					t.Fatal(err)
				}
			}
			for _, l := range lists {
				r.ClearCalls()
				for range 2 {
					n, err := l.read(t.Context(), c)
					switch {
					case streams && (err != nil || n != pods):
						t.Errorf("%s: %d, %v", l.what, n, err)
					case !streams && (!errors.Is(err, ErrTooLarge) || !strings.HasPrefix(err.Error(), l.what+": the list does not fit into one message, and") || hint.Of(err) != streamHint):
						t.Errorf("%s: %v, hint %q", l.what, err, hint.Of(err))
					}
				}
				want := fmt.Sprintf("1 %s, 2 %s", l.list, l.stream)
				if !streams {
					want = fmt.Sprintf("3 %s, 1 %s", l.list, l.stream) // the second time as the only part
				}
				if got := counted(r.Calls()); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}
