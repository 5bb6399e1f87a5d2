package podsync_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

func imagePod(image string, policy v1.PullPolicy) *v1.Pod {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = image, policy
	return p
}

func TestPullPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		image  string
		policy v1.PullPolicy
		want   []string
		events []string
	}{
		"IfNotPresent, present": {testImage, v1.PullIfNotPresent, []string{"RunPodSandbox", "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulled", "Created", "Started"}},
		"IfNotPresent, absent": {"example.com/a:1", v1.PullIfNotPresent,
			[]string{"RunPodSandbox", "PullImage example.com/a:1", "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulling", "Pulled", "Created", "Started"}},
		"Always, present": {testImage, v1.PullAlways,
			[]string{"RunPodSandbox", "PullImage " + testImage, "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulling", "Pulled", "Created", "Started"}},
		"Never, present": {testImage, v1.PullNever, []string{"RunPodSandbox", "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulled", "Created", "Started"}},
		"no tag is latest": {"example.com/a", v1.PullIfNotPresent,
			[]string{"RunPodSandbox", "PullImage example.com/a:latest", "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulling", "Pulled", "Created", "Started"}},
		"a port is no tag": {"localhost:5000/a", v1.PullIfNotPresent,
			[]string{"RunPodSandbox", "PullImage localhost:5000/a:latest", "CreateContainer c#0", "StartContainer c"}, []string{"SandboxReady", "Pulling", "Pulled", "Created", "Started"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.mustSync(imagePod(c.image, c.policy))
				wantCalls(t, b, c.want...)
				if got := b.events.reasons(); !slices.Equal(got, c.events) {
					t.Errorf("events %q; want %q", got, c.events)
				}
			})
		})
	}
}

func TestImagePullNeverWaitsForImage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		res, err := b.sync(imagePod("example.com/a:1", v1.PullNever))
		wantWaiting(t, res.Status, "ErrImageNeverPull", `Container image "example.com/a:1" is not present with pull policy of Never`)
		if at := retryAt(t, err); !at.IsZero() {
			t.Errorf("retry at %v; want it left to the worker", at)
		}
		wantCalls(t, b, "RunPodSandbox")
		if got, want := b.events.reasons(), []string{"SandboxReady", "ErrImageNeverPull", "Failed"}; !slices.Equal(got, want) {
			t.Errorf("events %q; want %q", got, want)
		}
	})
}

func TestInvalidImageNameReason(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		res, err := b.sync(imagePod("UPPER:case/x", v1.PullIfNotPresent))
		if err == nil {
			t.Fatal("no error")
		}
		wantWaiting(t, res.Status, "InvalidImageName", `"UPPER:case/x"`)
		if slices.Contains(b.rt.reads, "ImageStatus") {
			t.Error("asks the runtime for it")
		}
	})
}

// TestFailedPullBackOff: ErrImagePull, then ImagePullBackOff without a
// pull until 10 s have passed, then 20 s.
func TestFailedPullBackOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.pullError = runtimeError{"connection refused"}
		p := imagePod("example.com/a:1", v1.PullIfNotPresent)
		for i, delay := range []time.Duration{10 * time.Second, 20 * time.Second} {
			failed := time.Now()
			res, err := b.sync(p)
			wantWaiting(t, res.Status, "ErrImagePull", "connection refused")
			if at := retryAt(t, err); !at.IsZero() {
				t.Errorf("a failed pull is retried at %v; want it left to the worker", at)
			}
			time.Sleep(time.Second)
			res, err = b.sync(p)
			wantWaiting(t, res.Status, "ImagePullBackOff", `Back-off pulling image "example.com/a:1": ErrImagePull: connection refused`)
			if at := retryAt(t, err); !at.Equal(failed.Add(delay)) {
				t.Errorf("back-off %d ends %v after the failure; want %v", i, at.Sub(failed), delay)
			}
			time.Sleep(time.Until(failed.Add(delay)))
		}
		b.rt.pullError = nil
		b.mustSync(p)
		pulls := 0
		for _, c := range b.calls() {
			if c.method == "PullImage" {
				pulls++
			}
		}
		if pulls != 3 {
			t.Errorf("%d pulls; want 3", pulls)
		}
	})
}

type runtimeError struct{ text string }

func (e runtimeError) Error() string          { return "pull image x: " + e.text }
func (e runtimeError) RuntimeMessage() string { return e.text }

func TestPullFailureReasonsOfRuntime(t *testing.T) {
	for text, want := range map[string][2]string{
		"RegistryUnavailable: pulling: connection refused": {"RegistryUnavailable", "image pull failed for example.com/a because the registry is unavailable: pulling: connection refused"},
		"SignatureValidationFailed: no policy":             {"SignatureValidationFailed", "image pull failed for example.com/a because the signature validation failed: no policy"},
		"not found":                                        {"ErrImagePull", "not found"},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.rt.pullError = errors.New(text)
			res, err := b.sync(imagePod("example.com/a", v1.PullAlways))
			if err == nil {
				t.Fatal("no error")
			}
			wantWaiting(t, res.Status, want[0], want[1])
		})
	}
}

func TestSharedImageIsQueriedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.mustSync(podOf(v1.RestartPolicyAlways, container("a"), container("b")))
		asked := 0
		for _, r := range b.rt.reads {
			if r == "ImageStatus" {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("the image was asked for %d times; want once", asked)
		}
	})
}

func TestSyncErrorKeepsEveryCause(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		causes := map[string]error{"a": errors.New("cause of a"), "b": errors.New("cause of b")}
		b.rt.fail = func(method, name string) error {
			if method != "CreateContainer" {
				return nil
			}
			return causes[name]
		}
		_, err := b.sync(podOf(v1.RestartPolicyAlways, container("a"), container("b")))
		for name, cause := range causes {
			if !errors.Is(err, cause) {
				t.Errorf("error %v lacks the cause of %s", err, name)
			}
		}
		want := fmt.Sprintf("start container %q: CreateContainerError: cause of a; start container %q: CreateContainerError: cause of b", "a", "b")
		if err.Error() != want {
			t.Errorf("error %q; want %q", err, want)
		}
	})
}

// Off line an image without a tag is pulled although it is here: the message says what uses it.
func TestFailedPullOfPresentImage(t *testing.T) {
	for image, want := range map[string]string{testImage: "no route to host: " + pod.ImagePresent, "example.com/a:1": "no route to host"} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.rt.pullError = errors.New("no route to host")
			res, _ := b.sync(imagePod(image, v1.PullAlways))
			if got := res.Status.ContainerStatuses[0].State.Waiting; got == nil || got.Message != want {
				t.Errorf("%s: %+v, want %q", image, got, want)
			}
		})
	}
}
