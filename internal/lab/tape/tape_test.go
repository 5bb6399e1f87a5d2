package tape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
)

// answers are what a client is answered to every call that only reads.
func answers(t *testing.T, c *cri.Client, sandbox, container string) map[string]any {
	t.Helper()
	all := map[string]any{}
	take := func(name string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = answer
	}
	ctx := t.Context()
	for _, method := range cri.RawMethods {
		answer, err := c.RawAnswer(ctx, method)
		take(method, answer, err)
	}
	pods, err := c.ListPods(ctx)
	take("pods", pods, err)
	for _, p := range pods {
		one, err := c.ListPod(ctx, p.UID)
		take("pod "+p.Name, one, err)
		st, err := c.PodStatus(ctx, p)
		take("status "+p.Name, st, err)
	}
	raw, err := c.RawSandbox(ctx, sandbox)
	take("sandbox", raw, err)
	raw, err = c.RawContainer(ctx, container)
	take("container", raw, err)
	process, err := c.ContainerProcess(ctx, container)
	take("process", process, err)
	image, err := c.ImageStatus(ctx, "busybox")
	take("image", image, err)
	stats, err := c.ContainerStats(ctx)
	take("stats", stats, err)
	net, err := c.SandboxStats(ctx)
	take("network", net, err)
	return all
}

// What a runtime answered, its recording answers.
func TestRecordingAnswersAsTheRuntimeDid(t *testing.T) {
	bubble(t, func(n *node) {
		sandbox, container := n.run("web", "sleep 3600")
		n.run("job", "exit 3")
		time.Sleep(time.Second)
		want := answers(n.t, n.client, sandbox, container)
		_, client := served(n.t, n.record())
		isTime := cmp.FilterPath(func(p cmp.Path) bool { return strings.Contains(p.Last().String(), `"timestamp"`) }, cmp.Ignore())
		if diff := cmp.Diff(want, answers(n.t, client, sandbox, container), isTime); diff != "" {
			n.t.Error(diff)
		}
	})
}

// What is not recorded is unsupported, never not found. An error is the one that was recorded.
func TestWhatIsNotRecordedIsNotGone(t *testing.T) {
	bubble(t, func(n *node) {
		_, container := n.run("web", "sleep 3600")
		n.sim.Inject(`method=ContainerStatus pod=web nth=1 error=NotFound message="removed meanwhile"`)
		_, client := served(n.t, n.record())
		ctx := n.t.Context()
		if _, err := client.ContainerStatus(ctx, container); !errors.Is(err, cri.ErrNotFound) || !strings.Contains(err.Error(), "removed meanwhile") {
			n.t.Errorf("recorded error: %v", err)
		}
		for name, err := range map[string]error{
			"unknown container": second(client.ContainerStatus(ctx, "other")),
			"a change":          client.StopContainer(ctx, container, time.Second),
			"events":            client.Hints(ctx, nil, nil),
		} {
			if !errors.Is(err, cri.ErrUnsupported) || errors.Is(err, cri.ErrNotFound) || !strings.Contains(err.Error(), "not recorded: ") {
				n.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// A tape answers as of any time that it spans: of a round all is answered, or nothing.
func TestRecordingAnswersAsOfATime(t *testing.T) {
	bubble(t, func(n *node) {
		n.run("web", "sleep 3600")
		r := n.recorder()
		began := time.Now()
		if err := r.Snapshot(n.t.Context()); err != nil {
			n.t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- r.Follow(n.t.Context(), time.Minute, time.Second, true) }()
		time.Sleep(10 * time.Second)
		n.run("job", "sleep 5; exit 3")
		if err := <-done; err != nil {
			n.t.Fatal(err)
		}
		file := finish(n.t, r.Writer)
		s, client := served(n.t, file)
		names := func(after time.Duration) (all []string) {
			s.SetTime(began.Add(after))
			pods, err := client.ListPods(n.t.Context())
			if err != nil {
				n.t.Fatal(err)
			}
			for _, p := range pods {
				st, err := client.PodStatus(n.t.Context(), p)
				if err != nil {
					n.t.Fatal(err)
				}
				all = append(all, p.Name+" "+st.Containers[0].State.String())
			}
			slices.Sort(all)
			return all
		}
		for after, want := range map[time.Duration][]string{
			time.Second:      {"web running"},
			12 * time.Second: {"job running", "web running"},
			17 * time.Second: {"job exited", "web running"},
			time.Hour:        {"job exited", "web running"},
		} {
			if got := names(after); !slices.Equal(got, want) {
				n.t.Errorf("after %s: %q, want %q", after, got, want)
			}
		}
		if span := s.tape.End().Sub(began); span != time.Minute {
			n.t.Errorf("it spans %s", span)
		}
		if events := strings.Count(unzipped(n.t, file), `"call":"GetContainerEvents"`); events < 3 {
			n.t.Errorf("%d events", events)
		}
		// A minute of a quiet node is recorded once.
		if lists := strings.Count(unzipped(n.t, file), `"call":"ListContainers"`); lists > 5 {
			n.t.Errorf("%d lists of containers", lists)
		}
	})
}

// A call that hangs is on the tape as one that was not answered, and keeps nothing else off it.
func TestRecordingOfARuntimeThatHangs(t *testing.T) {
	bubble(t, func(n *node) {
		_, stuck := n.run("db", "sleep 3600")
		_, other := n.run("web", "sleep 3600")
		defer n.sim.Inject("method=ContainerStatus pod=db hang")()
		_, client := served(n.t, n.record())
		if _, err := client.ContainerStatus(n.t.Context(), stuck); !errors.Is(err, cri.ErrDeadline) {
			n.t.Error(err)
		}
		if _, err := client.ContainerStatus(n.t.Context(), other); err != nil {
			n.t.Error(err)
		}
	})
}

// A Writer takes calls as a relay sees them, and keeps those that it can serve.
func TestWriterKeepsWhatReads(t *testing.T) {
	start := time.Unix(1000, 0)
	w := NewWriter(Header{Start: start})
	version, _ := canonical(&runtimeapi.VersionResponse{RuntimeName: "a"})
	other, _ := canonical(&runtimeapi.VersionResponse{RuntimeName: "b"})
	filter, _ := canonical(&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: "x"}})
	for i, c := range []Call{
		{Method: runtimeapi.RuntimeService_Version_FullMethodName, Response: version},
		{Method: runtimeapi.RuntimeService_Version_FullMethodName, Response: version}, // the same again
		{Method: runtimeapi.RuntimeService_StopContainer_FullMethodName},
		{Method: "/containerd.services.leases.v1.Leases/List", Response: []byte("?")},
		{Method: "/other.RuntimeService/Version", Response: version},
		{Method: runtimeapi.RuntimeService_ListContainers_FullMethodName, Request: filter},
		{Method: runtimeapi.RuntimeService_Version_FullMethodName, Response: other},
		{Method: runtimeapi.RuntimeService_Version_FullMethodName, Status: status.New(codes.Unavailable, "down")},
	} {
		c.At = start.Add(time.Duration(i) * time.Second)
		if err := w.Add(c); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := w.Add(Call{Method: runtimeapi.RuntimeService_Version_FullMethodName, Response: []byte("?")}); err == nil {
		t.Error("a message that is none was taken")
	}
	recorded := read(t, finish(t, w))
	var got []string
	for _, c := range recorded.calls {
		got = append(got, c.At.Sub(start).String())
	}
	if want := []string{"0s", "6s", "7s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What one user writes into annotations is cut, and named; what is of others stays as it is.
func TestLargeObjectsAreCut(t *testing.T) {
	large := strings.Repeat("a large note, ", 15_000)
	info, err := json.Marshal(map[string]any{"pid": 4711, "config": map[string]any{"annotations": map[string]string{"note": large}}})
	if err != nil {
		t.Fatal(err)
	}
	many := map[string]string{}
	for i := range 20_000 {
		many[fmt.Sprintf("key-%d", i)] = "x"
	}
	sandbox := func(name string, annotations map[string]string) *runtimeapi.PodSandbox {
		return &runtimeapi.PodSandbox{Id: "id-" + name, Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: name, Uid: "uid-" + name}, Annotations: annotations}
	}
	w := NewWriter(Header{Start: time.Unix(1000, 0)})
	for _, c := range []Call{
		{Method: runtimeapi.RuntimeService_ListPodSandbox_FullMethodName, Response: encode(t, &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
			sandbox("large", map[string]string{"note": large}), sandbox("many", many), sandbox("small", map[string]string{"note": "small"}),
		}})},
		{Method: runtimeapi.RuntimeService_PodSandboxStatus_FullMethodName, Request: encode(t, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: "id-large", Verbose: true}), Response: encode(t, &runtimeapi.PodSandboxStatusResponse{
			Status: &runtimeapi.PodSandboxStatus{Id: "id-large", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "large"}, Annotations: map[string]string{"note": large}}, Info: map[string]string{"info": string(info)},
		})},
	} {
		c.At = time.Unix(1001, 0)
		if err := w.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	count, err := w.Finish(&file, NewMask(nil), time.Unix(1002, 0))
	if err != nil || strings.Join(count.Cut, " ") != "default/large default/many" {
		t.Errorf("%+v, %v", count, err)
	}
	if text := unzipped(t, file.Bytes()); len(text) > 4*maxObject {
		t.Errorf("%d bytes", len(text))
	}
	if pids := w.PIDs(); !slices.Equal(pids, []int{4711}) {
		t.Errorf("%v", pids)
	}
	answer, err := read(t, file.Bytes()).Answer("ListPodSandbox", nil, time.Unix(1002, 0))
	var list runtimeapi.ListPodSandboxResponse
	if err == nil {
		err = proto.Unmarshal(answer, &list)
	}
	if err != nil || len(list.Items) != 3 {
		t.Fatal(&list, err)
	}
	if note := list.Items[0].GetAnnotations()["note"]; !strings.HasSuffix(note, " more bytes were left out") || list.Items[2].GetAnnotations()["note"] != "small" || list.Items[1].GetMetadata().GetUid() != "uid-many" {
		t.Errorf("%.100s", note)
	}
}
