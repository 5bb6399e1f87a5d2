package podsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// said are the messages of the events of a reason.
func (l *eventLog) said(reason string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.list {
		if e.Reason == reason && e.Warning && e.Container == "" {
			all = append(all, e.Message)
		}
	}
	return all
}

func TestResolvConfLimitsEventPerSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.DNSPolicy = v1.DNSNone
		p.Spec.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"}}
		b.mustSync(p)
		b.mustSync(p)
		got := b.events.said("DNSConfigForming")
		if len(got) != 1 || !strings.HasSuffix(got[0], "the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3") {
			t.Errorf("events %q", got)
		}
	})
}

func TestLongFQDNFailsSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.Hostname, p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("h", 60), "sub", new(true)
		_, err := b.sync(p)
		if err == nil || len(b.calls()) > 0 {
			t.Fatalf("error %v, calls %v", err, b.calls())
		}
		got := b.events.said("FailedCreatePodSandBox")
		if len(got) != 1 || !strings.HasPrefix(got[0], "Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN hhh") ||
			!strings.HasSuffix(got[0], "is too long (64 characters is the max, 77 characters requested)") {
			t.Errorf("events %q", got)
		}
		p.Spec.SetHostnameAsFQDN = nil
		b.mustSync(p)
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c")
	})
}

// dnsKeeper keeps what sandboxes are told of name servers.
type dnsKeeper struct {
	*fakeRuntime
	servers []string
}

func (k *dnsKeeper) RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	k.servers = append(k.servers, cfg.DnsConfig.Servers...)
	return k.fakeRuntime.RunPodSandbox(ctx, cfg, handler)
}

func TestResolvConfIsReadPerSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		dns, broken := render.DNS{Servers: []string{"10.0.0.1"}}, errors.New("resolv.conf is broken")
		b.hooks.resolver = func() (render.DNS, error) { return dns, broken }
		told := &dnsKeeper{fakeRuntime: b.rt}
		b.opt.Runtime = told
		b.syncer = podsync.New(b.opt)
		p := podOf(v1.RestartPolicyAlways, container("c"))
		if _, err := b.sync(p); !errors.Is(err, broken) || len(b.calls()) > 0 {
			t.Fatalf("error %v, calls %v", err, b.calls())
		}
		broken = nil
		b.rt.fail = func(string, string) error { return errors.New("no network") }
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		dns, b.rt.fail = render.DNS{Servers: []string{"10.0.0.2"}}, nil
		b.mustSync(p)
		if got := told.servers; !slices.Equal(got, []string{"10.0.0.1", "10.0.0.2"}) {
			t.Errorf("sandboxes got the servers %q", got)
		}
	})
}

func TestErrorOfSandboxThatDoesNotStopFollowsItsCause(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(method, _ string) error { return errors.New(method + " failed") }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		if _, err := b.sync(p); err == nil || err.Error() != "RunPodSandbox failed" {
			t.Errorf("error %v", err)
		}
		b.rt.status.Sandboxes = []*pod.SandboxStatus{{ID: "s0", State: pod.Exited}} // the runtime keeps it
		if _, err := b.sync(p); err == nil || err.Error() != "RunPodSandbox failed; StopPodSandbox failed" {
			t.Errorf("error %v", err)
		}
		b.rt.fail = nil
		b.mustSync(p)
		b.rt.fail = func(method, _ string) error { return errors.New(method + " failed") }
		b.rt.status.Sandboxes[0].State = pod.Exited
		if _, err := b.sync(p); err == nil || strings.Contains(err.Error(), "RunPodSandbox") {
			t.Errorf("after a sandbox that started: error %v", err)
		}
	})
}
