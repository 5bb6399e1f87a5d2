package oracle

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/cgroup"
	facts "github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/userns"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
	"github.com/podctl/podctl/testkit/testutil"
)

const (
	source   = "test"
	nodeName = "podctl-oracle-node"
)

// host is what the podctls of all cases share: the runtime and the cgroups.
type host struct {
	endpoint string
	dir      string
	facts    render.Node
	cgroups  *cgroup.Manager
}

// newHost takes the machine of the recording for this one, so that all that
// is computed from it comes out equal; but not its huge pages, which the
// runtime could not limit here. When the test ends it fails if anything is
// left in the runtime or on disk.
func newHost(t *testing.T, rt *live.Instance, recorded *render.Node) *host {
	t.Helper()
	// A short path: sockets live in it.
	dir, err := os.MkdirTemp("", "podctl-oracle-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &host{endpoint: rt.Endpoint, dir: dir, facts: *recorded}
	machine, err := facts.ReadFacts(dir, dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	h.facts.Name, h.facts.HugePageSizes = nodeName, machine.HugePageSizes

	client := h.connect(t, rt.Endpoint)
	drivers, err := client.CgroupDrivers(t.Context())
	client.Close()
	if err != nil {
		t.Fatal(err)
	}
	// A root of its own: other tests look for leftover files in podctl's.
	root := fmt.Sprintf("podctltest%d", os.Getpid())
	if h.cgroups, err = cgroup.New(cgroup.Options{Root: root, Driver: cgroup.Driver(drivers.Default)}); err != nil {
		t.Fatal(err)
	}
	before := rt.Traces(dir)
	t.Cleanup(func() {
		if err := h.cgroups.RemoveEmptyParents(); err != nil {
			t.Error(err)
		}
		left := slices.DeleteFunc(rt.NewSince(t, before, dir), func(trace string) bool {
			return strings.HasPrefix(trace, "cgroup ") // not of our root
		})
		for _, pattern := range []string{"/sys/fs/cgroup/" + root + "*", "/sys/fs/cgroup/*/" + root + "*"} {
			cgroups, _ := filepath.Glob(pattern)
			left = append(left, cgroups...)
		}
		for _, trace := range left {
			t.Errorf("left over: %s", trace)
		}
	})
	return h
}

func (h *host) connect(t *testing.T, endpoint string) *cri.Client {
	t.Helper()
	client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// podctl is one node that drives the runtime through a recording proxy.
type podctl struct {
	node   *node.Node
	client *cri.Client
	proxy  *record.Proxy
	facts  *render.Node
	root   string
	// ips are the addresses that its pod had so far.
	ips map[string]bool
}

// podctl starts one. It and its pods are stopped when the test ends.
func (h *host) podctl(t *testing.T, name string) *podctl {
	t.Helper()
	at := func(elem ...string) string { return filepath.Join(append([]string{h.dir, name}, elem...)...) }
	dirs := []string{at(), at("root"), at("root", "pods"), at("logs")}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, dir := range slices.Backward(dirs) {
			if err := os.Remove(dir); err != nil {
				t.Errorf("left over: %v", err) // it is not empty
			}
		}
	})
	facts := h.facts
	facts.PodsDir, facts.LogDir, facts.SeccompDir = at("root", "pods"), at("logs"), at("root", "seccomp")
	p := &podctl{facts: &facts, root: at("root"), ips: map[string]bool{}}

	var err error
	if p.proxy, err = record.Start(at("cri.sock"), h.endpoint); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.proxy.Close() })
	p.client = h.connect(t, p.proxy.Endpoint)
	t.Cleanup(p.client.Close)
	locks, err := owner.Open(at("run"), "oracle-"+name, proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
	})
	admission, err := admission.ReadPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	podDirs := poddir.New(facts.PodsDir, locks.Runtime())
	facts.DirName = podDirs.Name
	p.node = node.New(node.Options{
		Instance: "oracle-" + name, Sources: []string{source},
		Runtime: p.client, Locks: locks, Facts: &facts, Cgroups: h.cgroups, Dirs: podDirs, Volumes: volume.NewNamed(p.root, podDirs.Name),
		Admission: admission, Host: oracleHost{node.StaticHost{Facts: &facts}, userns.New(p.root, podDirs.Name)},
		PLEG: pleg.Options{Broadcasts: func(context.Context) bool { return true }},
		Log:  slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	p.run(t)
	return p
}

// oracleHost is a host with user ids for pods.
type oracleHost struct {
	node.StaticHost
	ids *userns.Ranges
}

// UserIDs implements node.Host.
func (h oracleHost) UserIDs(ctx context.Context, uid types.UID) (first, length uint32, err error) {
	return h.ids.Of(ctx, uid)
}

// run runs the node until the test has ended and its pods are stopped.
func (p *podctl) run(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- p.node.Run(ctx) }()
	t.Cleanup(func() {
		draining, cancel := context.WithTimeout(ctx, live.Timeout)
		defer cancel()
		now := int64(1)
		if err := p.node.Drain(draining, &now); err != nil {
			t.Errorf("drain: %v", err)
		}
		end()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// calls are the calls so far that the recordings have, too.
func (p *podctl) calls() []podCall { return changesOf(p.proxy.Calls()) }

// within waits until the condition holds, and reports whether it did in time.
// Meanwhile it records the addresses of the pod.
func (p *podctl) within(t *testing.T, timeout time.Duration, is func() bool) bool {
	t.Helper()
	return testutil.Poll(timeout, func() bool {
		for _, info := range p.node.Pods() {
			if ip := info.Status.PodIP; ip != "" && ip != hostIP {
				p.ips[ip] = true
			}
		}
		return is()
	})
}

// knowsEnds reports whether all containers of the pod but those that are
// excepted have ended, and the node knows it.
func (p *podctl) knowsEnds(t *testing.T, uid types.UID, excepted map[string]bool) bool {
	held, err := p.client.ListPod(t.Context(), uid)
	if err != nil || held == nil {
		return false
	}
	known := map[string]bool{}
	for _, info := range p.node.Pods() {
		for _, c := range slices.Concat(info.Status.InitContainerStatuses, info.Status.ContainerStatuses) {
			for _, state := range []v1.ContainerState{c.State, c.LastTerminationState} {
				if state.Terminated != nil {
					_, id, _ := strings.Cut(state.Terminated.ContainerID, "://")
					known[id] = true
				}
			}
		}
	}
	newest := map[string]bool{}
	for _, c := range held.Containers {
		if newest[c.Name] || excepted[c.Name] || c.State == pod.Created {
			continue
		}
		newest[c.Name] = true
		if c.State != pod.Exited || !known[c.ID] {
			return false
		}
	}
	return true
}

var (
	terminationLog = regexp.MustCompile(`(<pods>/<uid>/containers/[^/"]+/)[0-9a-f]{8}"`)
	imageID        = regexp.MustCompile(`"sha256:[0-9a-f]{64}"`)
)

// mask returns what puts the recordings' placeholders in the place of what
// they stand for. An image's id becomes one, too.
func (p *podctl) mask(uid types.UID) func(string) string {
	pairs := []string{
		p.facts.PodsDir, "<pods>", p.facts.LogDir, "<logs>", p.root, "<root>",
		string(uid), "<uid>", nodeName, "<node>", hostIP, "<hostIP>",
	}
	for ip := range p.ips {
		pairs = append(pairs, ip, "<podIP>")
	}
	replacer := strings.NewReplacer(pairs...)
	return func(s string) string {
		s = terminationLog.ReplaceAllString(replacer.Replace(s), `${1}<id>"`)
		return imageID.ReplaceAllString(s, `"<image>"`)
	}
}
