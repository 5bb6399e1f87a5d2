package proxy

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
)

func TestUnknownMethodsPass(t *testing.T) {
	inWorld(t, parse(t, "method=* error=Internal"), func(w *world) {
		var answer []byte
		request := []byte{}
		err := w.conn.Invoke(w.Context(), "/runtime.v9.RuntimeService/New", &request, &answer, grpc.ForceCodecV2(relay.Codec{}))
		w.wants(err, codes.Unimplemented)
	})
}

func TestRepeatedCall(t *testing.T) {
	inWorld(t, parse(t, "method=RemovePodSandbox repeat=1"), func(w *world) {
		_, err := w.cri.RemovePodSandbox(w.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: w.sandboxes()[0].GetId()})
		w.wants(err, codes.OK) // it is idempotent
		if n := len(w.sim.Calls("RemovePodSandbox")); n != 2 {
			w.Errorf("%d calls", n)
		}
	})
}

func TestPodIsMatchedByName(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		all := w.sandboxes()
		w.containers()
		name := all[0].GetMetadata().GetName()
		w.rules("method=PodSandboxStatus pod=" + name + " error=Internal")
		for i, want := range []codes.Code{codes.Internal, codes.OK} {
			_, err := w.cri.PodSandboxStatus(w.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: all[i].GetId()})
			w.wants(err, want)
		}
		if r := w.proxy.Rules()[0]; r.Matched != 1 || r.Fired != 1 {
			t.Error(r)
		}
	})
}

func TestHangEndsWhenItsRuleIsRemoved(t *testing.T) {
	inWorld(t, parse(t, "method=Version delay=1ms", "method=Status hang", "method=RemovePodSandbox hang lost=Internal"), func(w *world) {
		id := w.containers()[0].PodSandboxId
		ended := make(chan error, 2)
		go func() {
			_, err := w.cri.Status(w.Context(), &runtimeapi.StatusRequest{})
			ended <- err
		}()
		go func() {
			_, err := w.cri.RemovePodSandbox(w.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})
			ended <- err
		}()
		for _, remove := range []int{1, 2, 3} {
			if time.Sleep(time.Hour); len(ended) != max(0, remove-2) {
				w.Errorf("%d calls ended without %d rules", len(ended), remove-1)
			}
			if n := len(w.sim.Calls("RemovePodSandbox")); n != 1 {
				w.Errorf("the sandbox was removed %d times", n)
			}
			if err := w.proxy.Change(rules.Change{Remove: []int{remove}}); err != nil {
				w.Fatal(err)
			}
		}
		w.wants(<-ended, codes.OK)
		w.wants(<-ended, codes.OK)
	})
}

func TestDeadlineAndCancellationPass(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.sim.Inject("method=Status hang")
		_, err := w.cri.Status(w.within(3*time.Second), &runtimeapi.StatusRequest{})
		w.wants(err, codes.DeadlineExceeded)
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = w.cri.Status(ctx, &runtimeapi.StatusRequest{})
		w.wants(err, codes.Canceled)
	})
}

func TestErrorWithoutAMessageNamesItsRule(t *testing.T) {
	for text, want := range map[string]string{
		"error=Internal": "rule 2 of podctl", "lost=Internal": "rule 2 of podctl", `error=Internal message="too late"`: "too late", `lost=Internal message=lost`: "lost",
	} {
		inWorld(t, parse(t, "method=Status delay=1s", "method=Version "+text), func(w *world) {
			_, err := w.cri.Version(w.Context(), &runtimeapi.VersionRequest{})
			w.wants(err, codes.Internal)
			if got := status.Convert(err).Message(); got != want {
				w.Errorf("%s: %q, want %q", text, got, want)
			}
		})
	}
}
