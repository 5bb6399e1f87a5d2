package recording

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
	version, err := c.Version(ctx)
	take("version", version, err)
	status, err := c.Status(ctx)
	take("status", status, err)
	config, err := c.RuntimeConfig(ctx)
	take("runtime config", config, err)
	images, err := c.ListImages(ctx)
	take("images", images, err)
	filesystem, err := c.ImageFilesystem(ctx)
	take("image filesystem", filesystem, err)
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
			"events":            client.Notices(ctx, nil, nil),
		} {
			if !errors.Is(err, cri.ErrUnsupported) || errors.Is(err, cri.ErrNotFound) || !strings.Contains(err.Error(), "not recorded: ") {
				n.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// A call that hangs is in the recording as one that was not answered, and keeps nothing else off it.
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

// Of two answers to the same question the later one holds.
func TestLaterAnswerHolds(t *testing.T) {
	w := NewWriter(Header{})
	for _, c := range []call{
		{name: "Version", response: &runtimeapi.VersionResponse{RuntimeName: "a"}}, {name: "Version", err: status.Error(codes.Unavailable, "down")},
		{name: "Version", response: &runtimeapi.VersionResponse{RuntimeName: "b"}}, {name: "RuntimeConfig", response: &runtimeapi.RuntimeConfigResponse{}},
	} {
		c.addTo(t, w)
	}
	var file bytes.Buffer
	count, err := w.Finish(&file, NewMask(nil), time.Unix(1002, 0))
	if err != nil || count.Answers != 4 || count.Errors != 1 {
		t.Errorf("%+v, %v", count, err)
	}
	recorded := read(t, file.Bytes())
	answer, err := recorded.Answer("Version", nil)
	if err != nil || !strings.Contains(string(answer), "b") || !recorded.Header.Time.Equal(time.Unix(1002, 0)) {
		t.Errorf("%q, %v, %+v", answer, err, recorded.Header)
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
	w := NewWriter(Header{})
	for _, c := range []call{
		{name: "ListPodSandbox", response: (&runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{
			sandbox("large", map[string]string{"note": large}), sandbox("many", many), sandbox("small", map[string]string{"note": "small"}),
		}})},
		{name: "PodSandboxStatus", request: (&runtimeapi.PodSandboxStatusRequest{PodSandboxId: "id-large", Verbose: true}), response: (&runtimeapi.PodSandboxStatusResponse{
			Status: &runtimeapi.PodSandboxStatus{Id: "id-large", Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: "large"}, Annotations: map[string]string{"note": large}}, Info: map[string]string{"info": string(info)},
		})},
	} {
		c.addTo(t, w)
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
	answer, err := read(t, file.Bytes()).Answer("ListPodSandbox", nil)
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
