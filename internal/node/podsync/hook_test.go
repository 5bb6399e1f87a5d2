package podsync_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

// server serves outside of the bubble, on the host; asked are the paths so far.
func server(t *testing.T) (port intstr.IntOrString, asked func() []string) {
	t.Helper()
	paths := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return intstr.Parse(u.Port()), func() (all []string) {
		for len(paths) > 0 {
			all = append(all, <-paths)
		}
		return all
	}
}

func httpHook(port intstr.IntOrString, path string) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: port, Path: path}}
}

func TestHTTPHookTargets(t *testing.T) {
	for name, onHost := range map[string]bool{"the pod's address": false, "the host's": true} {
		t.Run(name, func(t *testing.T) {
			port, asked := server(t)
			inBubble(t, func(t *testing.T, b *bench) {
				b.rt.ip = "127.0.0.1"
				if onHost {
					b.opt.Node.IPs, b.rt.ip = []string{"127.0.0.1"}, "192.0.2.99"
				}
				p := podOf(v1.RestartPolicyAlways, container("c"))
				p.Spec.HostNetwork = onHost
				p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: httpHook(port, "/begun"), PreStop: httpHook(port, "/ends")}
				b.mustSync(p)
				if _, err := b.terminate(t.Context(), p, nil); err != nil {
					t.Fatal(err)
				}
				wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c", "StopContainer c 30s", "StopPodSandbox")
				if got := asked(); !slices.Equal(got, []string{"/begun", "/ends"}) {
					t.Errorf("asked for %q", got)
				}
			})
		})
	}
}

func TestHookHTTPSFallbackEvent(t *testing.T) {
	port, asked := server(t)
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.ip = "127.0.0.1"
		p := podOf(v1.RestartPolicyAlways, container("c"))
		hook := httpHook(port, "/x")
		hook.HTTPGet.Scheme = v1.URISchemeHTTPS
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: hook}
		b.mustSync(p)
		if !slices.Contains(b.events.reasons(), "LifecycleHTTPFallback") || len(asked()) != 1 {
			t.Errorf("events %q", b.events.reasons())
		}
	})
}

func TestPostStartHookFailureMessages(t *testing.T) {
	refused := httpHook(intstr.FromInt(1), "/up")
	refused.HTTPGet.Host = "127.0.0.1"
	for want, hook := range map[string]*v1.LifecycleHandler{
		`HTTP lifecycle hook (/up) for Container "c" in Pod "p_default(` + string(testUID) + `)" failed - error: Get "http://127.0.0.1:1/up"`: refused,
		`failed - error: port "nope" not found`:                             httpHook(intstr.FromString("nope"), "/"),
		"Cannot run handler: invalid handler: tcpSocket is for probes only": {TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt(1)}},
	} {
		inBubble(t, func(t *testing.T, b *bench) {
			p := podOf(v1.RestartPolicyAlways, container("c"))
			p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: hook}
			if _, err := b.sync(p); err == nil {
				t.Fatal("no error")
			}
			status, _ := b.syncer.Status(p.UID)
			wantWaiting(t, status, "PostStartHookError", want)
			if got := b.events.reasons(); !slices.Equal(got[4:], []string{"FailedPostStartHook", "Killing"}) {
				t.Errorf("events %q", got)
			}
		})
	}
}

func TestFailedPreStopHookDoesNotDelayStop(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.ip = "127.0.0.1"
		p := preStopPod(6, *httpHook(intstr.FromInt(1), "/"))
		started(t, b, p)
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 6s", "StopPodSandbox")
		if got := b.events.reasons(); !slices.Equal(got, []string{"Killing", "FailedPreStopHook"}) {
			t.Errorf("events %q", got)
		}
	})
}

// TestProbedUpdatesStatusDuringSync: what probes say is told at once, and
// no operation that began before takes it back.
func TestProbedUpdatesStatusDuringSync(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var told []string
		ready := pod.ProbeUnknown
		b.hooks.probes = func(types.UID) pod.ProbeResults {
			return pod.ProbeResults{Readiness: map[string]pod.ProbeResult{"c2": ready}}
		}
		b.hooks.published = func(_ *v1.Pod, s v1.PodStatus) {
			for _, c := range s.Conditions {
				if c.Type == v1.PodReady {
					told = append(told, string(c.Status))
				}
			}
		}
		b.syncer = podsync.New(b.opt)
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
		b.syncer.Probed(p) // of which nothing is known yet
		if len(told) > 0 {
			t.Errorf("told %q of a pod without status", told)
		}
		b.mustSync(p)
		b.mustSync(p)
		before := strings.Join(told, " ")
		ready = pod.ProbeSuccess
		time.Sleep(time.Second) // so that times of transitions differ
		b.syncer.Probed(p)
		status, _ := b.syncer.Status(p.UID)
		if !status.ContainerStatuses[0].Ready || told[len(told)-1] != "True" {
			t.Errorf("told %s, then %q; want the container to be ready", before, told[len(told)-1])
		}
		for _, c := range status.Conditions {
			if (c.Type == v1.PodReady || c.Type == v1.ContainersReady) && !c.LastTransitionTime.Time.Equal(time.Now().Truncate(time.Second)) {
				t.Errorf("%s since %s; want now", c.Type, c.LastTransitionTime)
			}
			if c.Type == v1.PodScheduled && c.LastTransitionTime.Time.Equal(time.Now().Truncate(time.Second)) {
				t.Error("a condition that did not change has a new time")
			}
		}
		ready = pod.ProbeFailure
		b.syncer.Probed(p)
		if told[len(told)-1] != "False" {
			t.Errorf("told %q", told)
		}
	})
}
